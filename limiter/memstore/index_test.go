package memstore

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestIndexLikeMap compares an index with a map while keys of all forms and lengths come and go, many of them with the
// same hash.
func TestIndexLikeMap(t *testing.T) {
	type subject struct {
		id  uint32
		key string
	}
	rng := rand.New(rand.NewPCG(5, 6))
	var rules []*limiter.Rule
	for i, a := range everyForm {
		rules = append(rules, newRule(t, limiter.Rule{
			ID: uint32(i), Zone: "z", Algorithm: a, Limit: limiter.Limit{Events: 1e6, Window: time.Hour},
		}))
	}
	var x index
	used := make(map[subject]int64)
	spread := 300 // how many different keys come: the index grows and shrinks with it
	for step := range 60_000 {
		if step%10_000 == 9_999 {
			spread = []int{3, 3000}[rng.IntN(2)]
			for k := range used { // all are spent but those of the first rule
				if k.id > 0 {
					delete(used, k)
				}
			}
			x.each(0, len(x.all), func(_ slot, e *entry) {
				if e.id == 0 {
					e.resetAt = 10
				}
			})
			x.sweep(0, len(x.all), 9)
			x.shrink()
		}
		i := rng.IntN(spread)
		r := rules[i%len(rules)]
		key := strings.Repeat("k", i%(maxText+9)) + string(rune('a'+i%26))
		k := limiter.Take{Rule: r, Key: []byte(key), Cost: 1}
		hash := uint64(i % 50)
		f, is := x.find(hash, &k), subject{r.ID, key}
		if _, want := used[is]; want != (f.entry != nil) {
			t.Fatalf("step %d: entry found = %v, want %v", step, f.entry != nil, want)
		}
		switch {
		case f.entry == nil:
			f = x.insert(hash, &k)
			fallthrough
		case rng.IntN(3) > 0:
			used[is]++
			if f.consume(&k, start); 1e6-k.Decision.Remaining != used[is] {
				t.Fatalf("step %d: events used = %d, want %d", step, 1e6-k.Decision.Remaining, used[is])
			}
		default:
			x.remove(f.entry)
			delete(used, is)
		}
		if x.len != len(used) || 2*x.len > len(x.buckets) {
			t.Fatalf("step %d: %d entries in %d buckets, want %d, in twice as many buckets", step, x.len, len(x.buckets), len(used))
		}
	}
}
