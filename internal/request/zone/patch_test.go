package zone

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// TestPatchedRules changes entries of keys at random. What is in force is what compiling the whole
// version gives.
func TestPatchedRules(t *testing.T) {
	s := compiledZones(t, fmt.Sprintf(zoneForRules, "patched"))
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Now()
	expired, later := now.Add(-time.Hour), now.Add(time.Hour)
	key := func() rules.Key { return rules.Key{Zone: "patched", Text: fmt.Sprint("k", random.IntN(8))} }
	n := 0
	entry := func() rules.Entry {
		n++
		ends := []*time.Time{nil, &expired, &later}
		return rules.Entry{ID: fmt.Sprint(n), ExpiresAt: ends[random.IntN(3)]}
	}
	d := new(rules.Document)
	was, _ := s.Compile(&rules.Version{Document: d}, nil, now)
	patches := 0
	for range 500 {
		d = d.Clone()
		switch random.IntN(6) {
		case 0:
			d.Overrides = append(d.Overrides, &rules.Override{Entry: entry(), Key: key(), Multiplier: float64(1 + random.IntN(5))})
		case 1:
			d.Overrides = append(d.Overrides, &rules.Override{Entry: entry(), Key: key(), Endpoint: "GET /search*", Limit: "9/1h"})
		case 2:
			d.Tiers = append(d.Tiers, &rules.TierAssignment{Entry: entry(), Key: key(), Tier: []string{"pro", "free"}[random.IntN(2)]})
		case 3:
			k := key()
			d.Access = append(d.Access, &rules.AccessEntry{Entry: entry(), Action: []string{rules.Allow, rules.Deny}[random.IntN(2)], Key: &k})
		case 4:
			if len(d.Overrides) > 0 {
				i := random.IntN(len(d.Overrides))
				d.Overrides = append(d.Overrides[:i:i], d.Overrides[i+1:]...)
			}
		case 5:
			if len(d.Tiers) > 0 {
				d.Tiers = d.Tiers[1:]
			}
			if len(d.Access) > 0 {
				d.Access = d.Access[:len(d.Access)-1]
			}
		}
		v := &rules.Version{Document: d}
		if _, _, ok := s.recompile(v, was, now); ok {
			patches++
		}
		got, _ := s.Compile(v, was, now)
		want, _ := s.Compile(v, nil, now)
		was = got
		for i := range 8 {
			if g, w := got.saysAbout(i, now), want.saysAbout(i, now); g != w {
				t.Fatalf("k%d has %s, want %s", i, g, w)
			}
		}
	}
	if patches < 400 {
		t.Errorf("patches = %d of 500 versions, want most", patches)
	}
}

// saysAbout returns what is in force of a key, apart from entries of one kind about the same, of
// which only one can be in force.
func (s *Snapshot) saysAbout(key int, now time.Time) string {
	z := s.set.Named("patched")
	keys, _ := z.KeysOf(&rules.Key{Zone: "patched", Text: fmt.Sprint("k", key)})
	k := s.rulesFor(z).keys.find(keys[0])
	if k == nil {
		return "nothing"
	}
	count := 0
	for _, o := range k.overrides {
		if o.inForce(now) {
			count++
		}
	}
	allowed, denied := k.accessAt(now)
	_, tier := k.tierAt(now)
	return fmt.Sprint(allowed, denied, tier, count, k.overrideAt(now, 0) != nil, k.overrideAt(now, 1) != nil)
}
