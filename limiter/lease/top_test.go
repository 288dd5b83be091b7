package lease

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// topOf returns what Top finds now in the zone of the rules: key, rule ID, limit, and " denied".
// Rules of one ID are in the order of their likelihood.
func (n node) topOf(most int, rules ...*limiter.Rule) (found []string, use []float64) {
	byID := make(map[uint32][]*limiter.Rule)
	for _, r := range rules {
		byID[r.ID] = append(byID[r.ID], r)
	}
	now := n.options.Clock()
	for _, k := range n.Top(now, &limiter.TopQuery{
		Zone: rules[0].Zone, Most: most, Rules: func(id uint32, _ []byte) []*limiter.Rule { return byID[id] },
	}) {
		text := fmt.Sprintf("%s %d %d", k.Key, k.Rule.ID, k.Rule.Limit.Events)
		if k.RetryAt > now {
			text += " denied"
		} else if k.RetryAt != 0 {
			n.t.Errorf("%s may be retried since %d", text, k.RetryAt)
		}
		found, use = append(found, text), append(use, k.Use)
	}
	return found, use
}

func (n node) checkTop(want []string, most int, rules ...*limiter.Rule) {
	n.t.Helper()
	if got, use := n.topOf(most, rules...); !slices.Equal(got, want) {
		n.t.Errorf("top = %q with the use %v, want %q", got, use, want)
	}
}

// TestTop takes keys at several rates. The use that is found is about their rate, with leases and
// without, and it passes when they are not taken any more.
func TestTop(t *testing.T) {
	for _, strict := range []bool{false, true} {
		for _, kind := range kinds {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				rule := func(id uint32, events int64) *limiter.Rule {
					return n.rule(limiter.Rule{
						ID: id, Algorithm: limiter.Algorithm{Kind: kind}, Strict: strict,
						Limit: limiter.Limit{Events: events, Window: 4 * time.Minute},
					})
				}
				free, pro, endpoint := rule(1, 1000), rule(1, 100_000), rule(2, 100_000)
				n.checkTop(nil, 9, free, pro, endpoint)
				for i := range 1800 { // one and a half minutes
					n.take(pro, "fast", 3)
					if i%2 == 0 {
						n.take(endpoint, "fast", 1)
					}
					if i%10 == 0 {
						n.take(free, "slow", 1)
					}
					time.Sleep(50 * time.Millisecond)
				}
				want := []string{"fast 1 100000", "fast 2 100000", "slow 1 1000"}
				n.checkTop(want, 9, free, pro, endpoint)
				n.checkTop(want[:1], 1, free, pro, endpoint)
				n.checkTop(want[1:2], 9, endpoint)
				_, use := n.topOf(9, free, pro, endpoint)
				for i, rate := range []float64{60, 10, 2} {
					if math.Abs(use[i]-rate) > 0.4*rate+0.5 {
						t.Errorf("use of %s = %.1f, want about %v", want[i], use[i], rate)
					}
				}
				time.Sleep(6 * time.Minute)
				n.checkTop(nil, 9, free, pro, endpoint)
				if t.Failed() {
					t.Fatalf("%v, strict %v", kind, strict)
				}
			})
		}
	}
}

// TestTopDenied shows which keys are denied, as long as they are.
func TestTopDenied(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r, raised := n.fixed("zone", 1, 10), n.fixed("zone", 1, 20)
		n.allowed(r, "other", 2, limiter.FromStore)
		n.allowed(r, "key", 10, limiter.FromStore)
		n.checkTop([]string{"key 1 10", "other 1 10"}, 9, r)
		n.denied(r, "key", 1, limiter.FromStore)
		n.checkTop([]string{"key 1 10 denied", "other 1 10"}, 9, r)
		time.Sleep(2 * maxDenialMemory * time.Microsecond) // the next take asks, and will be denied
		n.checkTop([]string{"key 1 10 denied", "other 1 10"}, 9, r)
		n.checkTop([]string{"key 1 20", "other 1 20"}, 9, raised) // the limit that is in force now
		n.allowed(raised, "key", 1, limiter.FromStore)
		n.checkTop([]string{"key 1 20", "other 1 20"}, 9, raised)
		n.Open("zone").Close()
		n.checkTop(nil, 9, raised)
	})
}

// BenchmarkTop measures a query.
//
//	go test -run '^$' -bench Top -benchtime 10x ./limiter/lease
func BenchmarkTop(b *testing.B) {
	for _, keys := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			s := New(&plentyLender{}, Options{Clock: func() limiter.Instant { return benchStart }})
			b.Cleanup(s.Close)
			r, err := limiter.NewRule(limiter.Rule{
				ID: 1, Zone: s.Open("zone"), Limit: limiter.Limit{Events: 1_000_000, Window: time.Hour},
			})
			if err != nil {
				b.Fatal(err)
			}
			takes := []limiter.Take{{Rule: r, Key: make([]byte, 16)}}
			for i := range keys {
				binary.BigEndian.PutUint64(takes[0].Key, uint64(i))
				takes[0].Cost = int64(i%997 + 1)
				_ = s.Take(context.Background(), benchStart, takes) // the lender has plenty
			}
			q := &limiter.TopQuery{Zone: r.Zone, Most: 20, Rules: func(uint32, []byte) []*limiter.Rule { return []*limiter.Rule{r} }}
			for b.Loop() {
				if n := len(s.Top(benchStart, q)); n != 20 {
					b.Fatalf("found %d keys, want 20", n)
				}
			}
		})
	}
}
