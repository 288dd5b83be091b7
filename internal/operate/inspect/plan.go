package inspect

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// Plan returns what changes for the zones if after comes in place of before, which has other zones.
// otherStore says how the store of the counts changes, or "" if it does not.
func Plan(before, after *zone.Snapshot, otherStore string) (plan []api.PlannedZone) {
	wasDry, isDry := dryRunTexts(before.Set(), zonesOf(before)), dryRunTexts(after.Set(), zonesOf(after))
	masked := maskedDryRuns(before.Set(), after.Set())
	reset := make(map[string][]string)
	for _, d := range Dropped(before.Set(), after.Set(), otherStore) {
		reset[d.Before.Name] = d.Changed
	}
	names := append(before.Set().Zones(), after.Set().Zones()...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		was, is := before.Set().Named(name), after.Set().Named(name)
		z := api.PlannedZone{Zone: name, Change: api.ZoneChanged, Limits: []api.PlannedLimit{}, Reset: reset[name]}
		switch {
		case was == nil:
			z.Change = api.ZoneAdded
			if isDry[name] != dryRunOff {
				z.DryRun = isDry[name]
			}
		case is == nil:
			z.Change = api.ZoneRemoved
		default:
			from, to := limitTexts(before.Slots(was)), limitTexts(after.Slots(is))
			z.Limits = changedLimits(from, to)
			if wasDry[name] != isDry[name] {
				z.DryRun = wasDry[name] + " is now " + isDry[name]
			}
			if zonesOf(before)[name] != nil && zonesOf(after)[name] != nil {
				z.Masked = changedLimitTexts(leaveMasked(was.Slots(), from, to), leaveMasked(is.Slots(), from, to))
				if text := masked(name); text != "" && z.DryRun == "" {
					z.Masked = append(z.Masked, text)
				}
			}
		}
		plan = append(plan, z)
	}
	return plan
}

// zonesOf returns what the rules change of zones.
func zonesOf(s *zone.Snapshot) map[string]*rules.ZoneChange { return s.Version.Document.Zones }

// dryRunTexts says for which keys each zone has a dry run, with what rules change of zones. Sites
// that share a zone may differ.
func dryRunTexts(set *zone.Set, changes map[string]*rules.ZoneChange) map[string]string {
	shares := make(map[string][]string)
	for _, z := range set.All() {
		share := config.FormatPercent(float64(z.Settings().DryRun))
		if changed := changes[z.Name]; changed != nil && changed.DryRun != "" {
			share = changed.DryRun
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

// limitTexts returns the limits of slots, and those of requests at once.
func limitTexts(slots []zone.Slot) map[limitPlace]limitText {
	texts := make(map[limitPlace]limitText)
	for _, s := range slots {
		if s.Own {
			texts[limitPlace{endpoint: s.Endpoint, tier: s.Tier, missing: s.Missing}] = textOf(&s)
		}
		if c := s.Concurrent; c != nil && !s.Missing && !s.CountsInRest(c) {
			texts[limitPlace{endpoint: s.Endpoint, tier: s.Tier, concurrent: true}] = limitText{limit: c.LimitText()}
		}
	}
	return texts
}

// textOf returns the limit of a slot, with what is not the default of how closely it is kept to.
func textOf(s *zone.Slot) limitText {
	if s.Limit == nil {
		return limitText{limit: "unlimited"}
	}
	how := algorithmText(s.Algorithm)
	if s.Limit.Rule != nil && s.Limit.Strict {
		how += " mode strict"
	}
	if s.Limit.Rule != nil && s.Limit.OnOutage != limiter.OutageLocal {
		how += " on_outage " + s.Limit.OnOutage.String()
	}
	return limitText{s.Limit.LimitText(), how}
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
