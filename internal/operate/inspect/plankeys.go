package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/topkeys"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// PlanKeys adds to a plan what happens to the keys that use the zones most, which top returns for a
// zone. The zones of after have the handles of those of before. otherStore is as in Plan. The error
// is that of the store.
func PlanKeys(ctx context.Context, store Store, top func(zone string) topkeys.View, before, after *zone.Snapshot,
	otherStore string, plan []api.PlannedZone,
) error {
	for i := range plan {
		z := &plan[i]
		was, is := before.Set().Named(z.Zone), after.Set().Named(z.Zone)
		if was == nil || len(z.Reset)+len(z.Limits) == 0 && z.DryRun == "" {
			continue
		}
		view := top(z.Zone)
		used := newUsedKeys(&view)
		if len(z.Reset) > 0 {
			z.Counts = removeReset(used, was, is, otherStore != "")
		}
		if is != nil {
			p := keyPlanner{store: store, old: before, zone: was, new: after, planned: is, now: time.Now()}
			var err error
			if z.Above, err = p.above(ctx, used); err != nil {
				return fmt.Errorf("zone %q: %w", z.Zone, err)
			}
		}
	}
	return nil
}

// removeReset removes the keys from used whose counts are not those of is, which is in the place of
// was, or nil. It returns how many there were. moved says that the store is another.
func removeReset(used map[topkeys.ID]*usedKey, was, is *zone.Zone, moved bool) (n int) {
	counted, kept := countIDs(was.Slots()), make(map[uint32]bool)
	if is != nil && !moved {
		kept = countIDs(is.Slots())
	}
	maps.DeleteFunc(used, func(id topkeys.ID, _ *usedKey) bool {
		reset := counted[id.Rule] && !(kept[id.Rule] && makes(is, []byte(id.Key), was))
		if reset {
			n++
		}
		return reset
	})
	return n
}

// makes reports whether z makes a key that was has made. A digest may be of any key.
func makes(z *zone.Zone, key []byte, was *zone.Zone) bool {
	before, _ := was.MissingKey()
	after, _ := z.MissingKey()
	if keytemplate.IsSubstitute(key) && before != nil && after != nil && before.String() != after.String() {
		return false
	}
	return slices.ContainsFunc(z.Templates, func(t *keytemplate.Template) bool {
		_, ok := t.TextOf(key)
		return ok
	})
}

// countIDs returns the numbers of the counts of slots.
func countIDs(slots []zone.Slot) map[uint32]bool {
	ids := make(map[uint32]bool)
	for _, s := range slots {
		if s.Limit != nil {
			ids[s.Limit.CountID] = true
		}
	}
	return ids
}

// A keyPlanner finds out what changes for the keys of a zone.
type keyPlanner struct {
	store         Store
	old, new      *zone.Snapshot
	zone, planned *zone.Zone
	now           time.Time
}

// above returns the keys in use that are above their new limits, or at the limit if their dry run
// ends, the greatest use first.
func (p *keyPlanner) above(ctx context.Context, used map[topkeys.ID]*usedKey) (keys []api.PlannedKey, err error) {
	before, after, counted := p.old.Slots(p.zone), p.new.Slots(p.planned), countedPlaces(p.new, p.planned, "")
	for _, k := range used {
		limit, place := p.limitOf(k, before, after), counted[k.Rule]
		if limit == nil || place == nil {
			continue
		}
		k.endpoint = place.endpoint
		found, err := p.store.Inspect(ctx, p.now, limit.Rule, []byte(k.Key))
		if err != nil {
			return nil, err
		}
		c, ends := found.Count, p.endsDryRun([]byte(k.Key))
		if c.Consumed > c.Limit || ends && (c.Consumed == c.Limit || k.rejected > 0 && c.Consumed > 0) {
			keys = append(keys, api.PlannedKey{
				ShownKey: k.show(p.planned, showsKeys(p.old, p.zone.Name)), Limit: limit.LimitText(), Consumed: c.Consumed,
				DryRunEnds: ends,
			})
		}
	}
	slices.SortFunc(keys, func(a, b api.PlannedKey) int {
		return cmp.Or(cmp.Compare(b.Consumed, a.Consumed), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Hash, b.Hash))
	})
	return keys, nil
}

// endsDryRun reports whether a key is in the dry run of the zone now and is not after the reload,
// at any of the sites that share the zone.
func (p *keyPlanner) endsDryRun(key []byte) bool {
	dry := func(s *zone.Snapshot, is bool) bool {
		return slices.ContainsFunc(s.Set().ZonesCalled(p.zone.Name), func(z *zone.Zone) bool { return s.InDryRun(z, key) == is })
	}
	return dry(p.old, true) && dry(p.new, false)
}

// limitOf returns the new limit of a count, nil if nothing counts there: at the same endpoint, for
// the tier under whose limit the key was used, if that can be told. before and after are the slots
// of the zones.
func (p *keyPlanner) limitOf(k *usedKey, before, after []zone.Slot) (likely *response.Policy) {
	tiers, fallback := p.planned.TierNames()
	for _, was := range before {
		if was.Missing || was.Limit == nil || was.Limit.CountID != k.Rule {
			continue
		}
		tier := fallback
		if slices.Contains(tiers, was.Tier) {
			tier = was.Tier
		}
		for _, s := range after {
			if s.Missing || s.Endpoint != was.Endpoint || s.Tier != tier {
				continue
			}
			limit := s.LimitFor([]byte(k.Key), p.now)
			switch {
			case limit == nil || limit.Rule == nil || limit.CountID != k.Rule:
			case limitIDOf(was.Limit.Rule) == k.limit:
				return limit
			default:
				likely = cmp.Or(likely, limit)
			}
		}
	}
	return likely
}
