package limiter

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestRestored takes ledgers apart after random loans, as a store that keeps their numbers elsewhere would, and checks that what
// is put together again answers and undoes alike.
func TestRestored(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 9))
			r, err := NewRule(Rule{Algorithm: a.Algorithm, Limit: Limit{Events: 70, Window: 13 * time.Second}, MaxOvershoot: 0.3})
			if err != nil {
				t.Fatal(err)
			}
			ledger, now := []*Ledger{NewLedger(a.Algorithm)}, Instant(1000*sec)
			for range 500 {
				now += Instant(rng.Int64N(2 * sec))
				Lend(1, 1, now, ledger, []LeaseRequest{{Rule: r, Need: rng.Int64N(20), More: rng.Int64N(5), Want: rng.Int64N(70)}})
				c := ledger[0].count.clone()
				c.advance(r, now) // as an answer that was written nowhere
				for _, need := range []int64{0, 1, 30} {
					got, want := LeaseRequest{Rule: r, Need: need, Granted: 1}, LeaseRequest{Rule: r, Need: need, Granted: 1}
					restored(r, now, c).FillAnswer(&got)
					if want.tell(c); got.Decision != want.Decision || got.Expires != want.Expires {
						t.Fatalf("need of %d at %d:\n got %+v, until %d\nwant %+v, until %d",
							need, now, got.Decision, got.Expires, want.Decision, want.Expires)
					}
				}
				for _, at := range []Instant{now, now + sec, now + 7*sec, now + 20*sec} {
					got, want := restored(r, now, c).Peek(r, at, 30), Restored{c.clone()}.Peek(r, at, 30)
					if got != want {
						t.Fatalf("%d µs after %d:\n got %+v\nwant %+v", at-now, now, got, want)
					}
				}
				for _, consumed := range []Events{{now, 1}, {now, 1000}, {now - 5*sec, 2}, {now - 20*sec, 2}} {
					got, want := restored(r, now, c), c.clone()
					got.Undo(r, consumed)
					want.undo(r, consumed, Events{})
					if got, want := got.Peek(r, now, 30), (Restored{want}).Peek(r, now, 30); got != want {
						t.Fatalf("with %+v undone at %d:\n got %+v\nwant %+v", consumed, now, got, want)
					}
				}
			}
		})
	}
}

// restored returns a count made from the numbers of c, which has been asked at the instant at.
func restored(r *Rule, at Instant, c lendingCount) Restored {
	switch c := c.(type) {
	case *lendingBucket:
		return RestoreTokenBucket(r, at, c.missing, c.part, opened(c.leaseSlots))
	case *lendingFixed:
		return RestoreFixedWindow(r, at, c.end, c.used, c.leased)
	case *lendingSliding:
		newestFirst := slices.Concat(c.counts[c.cur+1:], c.counts[:c.cur+1])
		slices.Reverse(newestFirst)
		return RestoreSlidingWindow(r, at, c.start, newestFirst, c.leased)
	}
	l := c.(*lendingLog)
	events, before := []Events{{N: 0}}, l.gone
	for i := range l.ring.n {
		e := l.ring.entry(i)
		events = append(events, Events{At: e.at, N: e.upTo - before})
		before = e.upTo
	}
	return RestoreSlidingLog(at, opened(l.leaseSlots), events...)
}

func opened(s leaseSlots) Open {
	return Open{Ends: s.ends, Length: s.length, Lent: s.open, Earlier: s.before}
}
