package zone

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A keyCount is a count of a key with the rule that is in force for it.
type keyCount struct {
	Key  []byte        // as requests have it
	Rule *limiter.Rule // of the count, even if the rule in force is "block" or "unlimited"
}

// CountsOf returns the counts of a key at an endpoint, or in the whole zone if that is "".
func (s *Snapshot) CountsOf(k *KeyRef, endpoint string) (counts []keyCount, err error) {
	z := s.set.named(k.Zone)
	if z == nil {
		return nil, s.set.noZone(k.Zone)
	}
	keys, err := z.resolve(k)
	if err != nil {
		return nil, err
	}
	inForce := s.rulesFor(z)
	for i := range inForce.endpoints {
		e := &inForce.endpoints[i]
		if endpoint != "" && e.name() != endpoint {
			continue
		}
		for _, key := range keys {
			counts = append(counts, inForce.countsOf(z, i, &k.Key, key)...)
		}
	}
	if len(counts) == 0 {
		err = fmt.Errorf("zone %q has no count of the key there: use one of the endpoints %q that has a limit of its own, or "+
			"none", k.Zone, s.set.Endpoints(k.Zone))
	}
	return counts, err
}

// countsOf returns the counts of a key at an endpoint: one, or with a comparison two, or none if the
// endpoint has none of its own.
func (c *zoneRules) countsOf(z *Zone, place int, k *rules.Key, key []byte) (counts []keyCount) {
	now := time.Now()
	entries := c.keys.find(key)
	if entries == nil {
		entries = new(keyEntries)
	}
	at := placement{endpoint: place, tier: withoutKey}
	if !k.Missing || !z.missing.limited {
		var given bool
		if at.tier, given = entries.tierAt(now); !given {
			at.tier = z.tiers.ofText(k)
		}
	}
	if c.countedAt(place, at.configured(c.endpoints)) != place {
		return nil
	}
	at.findOverride(c, entries, now)
	add := func(endpoints []endpointRules) {
		r, e := at.rule(endpoints), &endpoints[place]
		if r == nil {
			return
		}
		count := keyCount{Key: key, Rule: r.Rule}
		sameCount := func(other *rule) bool { return other.Rule != nil && other.CountID == r.CountID }
		if i := slices.IndexFunc(e.all(), sameCount); r.Rule == nil && i >= 0 {
			count.Rule = e.all()[i].Rule
		}
		if count.Rule != nil {
			counts = append(counts, count)
		}
	}
	add(c.endpoints)
	if c.compared != nil && c.compared.keys.Includes(key) {
		add(c.compared.endpoints)
	}
	return counts
}

// ofText returns the tier of a key as far as its text decides it.
func (f *tierFinder) ofText(k *rules.Key) int {
	if f == nil {
		return noTier
	}
	text, _ := k.Bytes() // it has been checked
	return cmp.Or(f.ofPattern(string(text)), f.fallback)
}
