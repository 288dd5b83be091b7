package leasetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestRemoteCountAnswersAsLedger takes ledgers apart after random requests, as a store that keeps
// their numbers elsewhere does, and checks that a limiter.RemoteCount of the numbers answers and
// cancels alike.
func TestRemoteCountAnswersAsLedger(t *testing.T) {
	for _, a := range algorithms {
		t.Run(a.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 9))
			r := mustRule(limiter.Rule{Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 70, Window: 13 * time.Second}})
			g, now := NewLedger(a.Algorithm), epoch
			for range 500 {
				now += limiter.Instant(rng.Int64N(2 * sec))
				l := limiter.LeaseRequest{Rule: r, Need: rng.Int64N(20), More: rng.Int64N(5), Want: rng.Int64N(70), Share: rng.Int64N(limiter.Shares)}
				want := lendOne(g, 1, now, l)
				c := g.count.clone()
				c.advance(r, now) // a denial was not written
				got := want
				got.Decision, got.Expires = limiter.Decision{}, 0
				remote(r, c).FillAnswer(&got)
				if got.Decision != want.Decision || got.Expires != want.Expires {
					t.Fatalf("request at %d:\n got %+v\nwant %+v", now, got, want)
				}
				for _, after := range []limiter.Instant{0, sec, 7 * sec, 20 * sec} {
					checkRemote(t, r, c, now+after)
				}
			}
		})
	}
}

// checkRemote compares c at the instant at with a limiter.RemoteCount of its numbers.
func checkRemote(t *testing.T, r *limiter.Rule, c lendingCount, at limiter.Instant) {
	t.Helper()
	c = c.clone()
	c.advance(r, at)
	if got, want := remote(r, c).State(r), (&Ledger{count: c}).Inspect(r, at); got != want {
		t.Fatalf("state at %d:\n got %+v\nwant %+v", at, got, want)
	}
	for _, cost := range []int64{1, 30, 71} {
		if got, want := remote(r, c).Peek(r, cost), peek(r, c, cost); got != want {
			t.Fatalf("take of %d at %d:\n got %+v\nwant %+v", cost, at, got, want)
		}
	}
	for _, served := range []limiter.Events{{At: at, N: 1}, {At: at, N: 1000}, {At: at - 5*sec, N: 2}, {At: at - 20*sec, N: 2}} {
		got, want := remote(r, c), c.clone()
		got.Cancel(r, served)
		want.cancel(r, served, limiter.Events{})
		if got, want := got.Peek(r, 30), peek(r, want, 30); got != want {
			t.Fatalf("take with %+v cancelled at %d:\n got %+v\nwant %+v", served, at, got, want)
		}
	}
}

func peek(r *limiter.Rule, c lendingCount, cost int64) (d limiter.Decision) {
	c.decide(&d, r, cost <= r.Capacity()-c.consumed(), cost)
	return d
}

// remote returns the numbers of c as a limiter.RemoteCount.
func remote(r *limiter.Rule, c lendingCount) limiter.RemoteCount {
	switch c := c.(type) {
	case *lendingBucket:
		return limiter.RemoteTokenBucket(r, c.at, c.missing, c.fraction, c.exported())
	case *lendingFixed:
		return limiter.RemoteFixedWindow(r, c.at, c.ends, c.used, c.leased)
	case *lendingSliding:
		return limiter.RemoteSlidingWindow(r, c.at, c.begins, c.counts, c.leased)
	}
	l := c.(*lendingLog)
	return limiter.RemoteSlidingLog(l.at, l.exported(), append([]limiter.Events{{N: 0}}, l.entries...)...)
}

func (s *leaseSlots) exported() limiter.LeaseSlots {
	return limiter.LeaseSlots{Ends: s.ends, Length: s.length, Current: s.current, Previous: s.previous}
}

func (p *parts) exported() limiter.Parts {
	return limiter.Parts{Ends: p.ends, Next: p.lengthOf(p.long.next), Current: p.current.exported(), Previous: p.previous.exported()}
}

func (s *slotParts) exported() limiter.SlotParts {
	return limiter.SlotParts{Shares: s.shares, Accrues: s.accrues, Events: s.events}
}
