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
				Lend(1, 1, now, ledger, []Loan{{Rule: r, Need: rng.Int64N(20), More: rng.Int64N(5), Want: rng.Int64N(70)}})
				c := ledger[0].count.clone()
				c.settle(r, now) // as an answer that was written nowhere
				for _, need := range []int64{0, 1, 30} {
					got, want := Loan{Rule: r, Need: need, Lent: 1}, Loan{Rule: r, Need: need, Lent: 1}
					restored(r, now, c).Tell(&got)
					if want.tell(c); got.Decision != want.Decision || got.Ends != want.Ends {
						t.Fatalf("need of %d at %d:\n got %+v, until %d\nwant %+v, until %d",
							need, now, got.Decision, got.Ends, want.Decision, want.Ends)
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
func restored(r *Rule, at Instant, c lendable) Restored {
	switch c := c.(type) {
	case *lentBucket:
		return RestoreTokenBucket(r, at, c.missing, c.part, opened(c.slots))
	case *lentFixed:
		return RestoreFixedWindow(r, at, c.end, c.used, c.leased)
	case *lentSliding:
		newestFirst := slices.Concat(c.counts[c.cur+1:], c.counts[:c.cur+1])
		slices.Reverse(newestFirst)
		return RestoreSlidingWindow(r, at, c.start, newestFirst, c.leased)
	}
	l := c.(*lentLog)
	events, before := []Events{{N: 0}}, l.gone
	for i := range l.ring.n {
		e := l.ring.entry(i)
		events = append(events, Events{At: e.at, N: e.upTo - before})
		before = e.upTo
	}
	return RestoreSlidingLog(at, opened(l.slots), events...)
}

func opened(s slots) Open {
	return Open{Ends: s.ends, Length: s.length, Lent: s.open, Earlier: s.before}
}
