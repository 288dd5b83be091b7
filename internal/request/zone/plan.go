package zone

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// Plan returns what changes for the zones if s comes in place of old, which has other zones. otherStore
// says how the store of the counts changes, or "" if it does not.
func (s *Snapshot) Plan(old *Snapshot, otherStore string) (plan []api.PlannedZone) {
	before, after := old.set.byName(), s.set.byName()
	wasDry, isDry := old.dryRunTexts(), s.dryRunTexts()
	configured := sync.OnceValue(func() *configuredZones { return configuredZonesOf(old, s) })
	reset := make(map[string][]string)
	for _, d := range s.set.Dropped(old.set, otherStore) {
		reset[d.Before.Name] = d.Changed
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		z := api.PlannedZone{Zone: name, Change: api.ZoneChanged, Limits: []api.PlannedLimit{}, Reset: reset[name]}
		switch {
		case before[name] == nil:
			z.Change = api.ZoneAdded
			if isDry[name] != dryRunOff {
				z.DryRun = isDry[name]
			}
		case after[name] == nil:
			z.Change = api.ZoneRemoved
		default:
			was, is := old.limitTexts(name), s.limitTexts(name)
			z.Limits = changedLimits(was, is)
			if wasDry[name] != isDry[name] {
				z.DryRun = wasDry[name] + " is now " + isDry[name]
			}
			if old.changesZone(name) && s.changesZone(name) {
				z.Masked = configured().maskedChanges(name, was, is, z.DryRun != "")
			}
		}
		plan = append(plan, z)
	}
	return plan
}

// dryRunTexts says for which keys each zone has a dry run. Sites that share a zone may differ.
func (s *Snapshot) dryRunTexts() map[string]string {
	shares := make(map[string][]string)
	for _, z := range s.set.All() {
		share := config.FormatPercent(float64(z.builder.zone.DryRun))
		if changes := s.Version.Document.Zones[z.Name]; changes != nil && changes.DryRun != "" {
			share = changes.DryRun
		}
		shares[z.Name] = append(shares[z.Name], shareText(share))
	}
	texts := make(map[string]string, len(shares))
	for name, all := range shares {
		slices.Sort(all)
		texts[name] = strings.Join(slices.Compact(all), " and ")
	}
	return texts
}

// dryRunOff is the text of a zone without a dry run.
const dryRunOff = "off"

func shareText(percent string) string {
	if percent == "0%" {
		return dryRunOff
	}
	return percent
}

// A limitPlace is where in a zone a limit is in force.
type limitPlace struct {
	endpoint, tier string
	missing        bool
	concurrent     bool // it is of requests at once
}

// A limitText is a limit as people read it. The zero value is none.
type limitText struct {
	limit string
	how   string // it is enforced: the algorithm, and what is not the default
}

func (t limitText) String() string { return strings.TrimSpace(t.limit + " " + t.how) }

// limitTexts returns the limits of a zone in force, and those of requests at once.
func (s *Snapshot) limitTexts(name string) map[limitPlace]limitText {
	texts := make(map[limitPlace]limitText)
	z, inForce := s.rulesOf(name)
	for s := range inForce.slots(z) {
		if s.own {
			texts[limitPlace{endpoint: s.endpoint, tier: s.tier, missing: s.missing}] = s.rule.text()
		}
		if s.missing {
			continue
		}
		if r := inForce.endpoints[s.at.endpoint].concurrentRule(s.at.tier); r != nil && !inForce.countsInRest(s.at.endpoint, s.at.tier) {
			p := limitPlace{endpoint: s.endpoint, tier: s.tier, concurrent: true}
			texts[p] = limitText{limit: fmt.Sprintf("concurrent %d", r.Limit)}
		}
	}
	return texts
}

// text returns the limit of r, with what is not the default of how closely it is kept to.
func (r *rule) text() limitText {
	if r == nil {
		return limitText{limit: "unlimited"}
	}
	how := algorithmText(r.compiled.Algorithm)
	if r.Rule != nil && r.Strict {
		how += " mode strict"
	}
	if r.Rule != nil && r.OnOutage != limiter.OutageLocal {
		how += " on_outage " + r.OnOutage.String()
	}
	return limitText{r.limit.String(), how}
}

// changedLimits returns the limits that differ, in a fixed order.
func changedLimits(was, is map[limitPlace]limitText) []api.PlannedLimit {
	changed := []api.PlannedLimit{}
	places := maps.Clone(was)
	maps.Copy(places, is)
	for p := range places {
		if was[p] != is[p] {
			changed = append(changed, api.PlannedLimit{
				Endpoint: p.endpoint, Tier: p.tier, Missing: p.missing, From: was[p].String(), To: is[p].String(),
			})
		}
	}
	slices.SortFunc(changed, func(a, b api.PlannedLimit) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Tier, b.Tier), compareBool(a.Missing, b.Missing),
			cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return changed
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// PlanKeys adds to a plan what happens to the keys that use the zones most, which top returns for a zone.
// The zones of s have the handles of those of old. otherStore is as in Plan. The error is that of the store.
func (s *Snapshot) PlanKeys(ctx context.Context, store InspectedStore, top func(zone string) topkeys.View, old *Snapshot,
	otherStore string, plan []api.PlannedZone,
) error {
	before, after := old.set.byName(), s.set.byName()
	for i := range plan {
		z := &plan[i]
		was, is := before[z.Zone], after[z.Zone]
		if was == nil || len(z.Reset)+len(z.Limits) == 0 && z.DryRun == "" {
			continue
		}
		view := top(z.Zone)
		used := newUsedKeys(&view)
		if len(z.Reset) > 0 {
			z.Counts = removeReset(used, was, is, otherStore != "")
		}
		if is != nil {
			p := keyPlanner{store: store, old: old, zone: was, new: s, planned: is, now: time.Now()}
			var err error
			if z.Above, err = p.above(ctx, used); err != nil {
				return fmt.Errorf("zone %q: %w", z.Zone, err)
			}
		}
	}
	return nil
}

// removeReset removes the keys from used whose counts are not those of is, which is in the place of was,
// or nil. It returns how many there were. moved says that the store is another.
func removeReset(used map[topkeys.ID]*usedKey, was, is *Zone, moved bool) (n int) {
	counted, kept := was.countIDs(), make(map[uint32]bool)
	if is != nil && !moved {
		kept = is.countIDs()
	}
	maps.DeleteFunc(used, func(id topkeys.ID, _ *usedKey) bool {
		reset := counted[id.Rule] && !(kept[id.Rule] && is.makes([]byte(id.Key), was))
		if reset {
			n++
		}
		return reset
	})
	return n
}

// makes reports whether z makes a key that was has made. A digest may be of any key.
func (z *Zone) makes(key []byte, was *Zone) bool {
	if keytemplate.IsSubstitute(key) && z.missing.key != nil && was.missing.key != nil &&
		z.missing.key.String() != was.missing.key.String() {
		return false
	}
	return slices.ContainsFunc(z.templates, func(t *keytemplate.Template) bool {
		_, ok := t.TextOf(key)
		return ok
	})
}

// countIDs returns the numbers of the counts of z.
func (z *Zone) countIDs() map[uint32]bool {
	ids := make(map[uint32]bool)
	for i := range z.configured.endpoints {
		for _, r := range z.configured.endpoints[i].all() {
			ids[r.CountID] = true
		}
	}
	return ids
}

// A keyPlanner finds out what changes for the keys of a zone.
type keyPlanner struct {
	store         InspectedStore
	old, new      *Snapshot
	zone, planned *Zone
	now           time.Time
}

// above returns the keys in use that are above their new limits, or at the limit if their dry run ends,
// the greatest use first.
func (p *keyPlanner) above(ctx context.Context, used map[topkeys.ID]*usedKey) (keys []api.PlannedKey, err error) {
	counted := newCountedRules(p.planned, p.new.rulesFor(p.planned), "", p.now)
	for _, k := range used {
		r := p.ruleOf(k)
		if r == nil || counted.byID[k.Rule] == nil {
			continue
		}
		found, err := p.store.Inspect(ctx, p.now, r.Rule, []byte(k.Key))
		if err != nil {
			return nil, err
		}
		c, ends := found.Count, p.endsDryRun([]byte(k.Key))
		if c.Consumed > c.Limit || ends && (c.Consumed == c.Limit || k.rejected > 0 && c.Consumed > 0) {
			keys = append(keys, api.PlannedKey{
				ShownKey: counted.show(k, p.old.set.showsKeys(p.zone.Name)), Limit: r.limit.String(), Consumed: c.Consumed,
				DryRunEnds: ends,
			})
		}
	}
	slices.SortFunc(keys, func(a, b api.PlannedKey) int {
		return cmp.Or(cmp.Compare(b.Consumed, a.Consumed), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Hash, b.Hash))
	})
	return keys, nil
}

// endsDryRun reports whether a key is in the dry run of the zone now and is not after the reload, at any
// of the sites that share the zone.
func (p *keyPlanner) endsDryRun(key []byte) bool {
	dry := func(s *Snapshot, is bool) bool {
		return slices.ContainsFunc(s.set.zonesCalled(p.zone.Name), func(z *Zone) bool { return s.rulesFor(z).dryRun.Includes(key) == is })
	}
	return dry(p.old, true) && dry(p.new, false)
}

// ruleOf returns the new rule of a count, nil if nothing counts there: at the same endpoint, for the tier
// under whose limit the key was used, if that can be told.
func (p *keyPlanner) ruleOf(k *usedKey) (likely *rule) {
	old, rules := p.old.rulesFor(p.zone), p.new.rulesFor(p.planned)
	for i := range old.endpoints {
		e := &old.endpoints[i]
		place := slices.IndexFunc(rules.endpoints, func(other endpointRules) bool { return other.name() == e.name() })
		if place < 0 {
			continue
		}
		for tier, was := range e.rules {
			if was == nil || was.CountID != k.Rule {
				continue
			}
			at := placement{endpoint: place, tier: p.planned.tiers.numbered(p.zone.tiers.name(tier))}
			at.findOverride(rules, rules.keys.find([]byte(k.Key)), p.now)
			r := at.rule(rules.endpoints)
			switch {
			case r == nil || r.Rule == nil || r.CountID != k.Rule:
			case limitIDOf(was.Rule) == k.limit:
				return r
			default:
				likely = cmp.Or(likely, r)
			}
		}
	}
	return likely
}
