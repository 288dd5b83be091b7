package lease

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestRejectedClientDrainsNobody has 256 connections of one address hammer a key that it shares with others. The shared key loses
// the events of admitted requests and no others, whenever answers come.
func TestRejectedClientDrainsNobody(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				zone := func(id uint32, name string, events int64) *limiter.Rule {
					return n.rule(limiter.Rule{
						ID: id, Zone: n.Open(name), Algorithm: limiter.Algorithm{Kind: kind}, MaxOvershoot: 0.01,
						Limit: limiter.Limit{Events: events, Window: 24 * time.Hour},
					})
				}
				address, common := zone(1, "a", 10), zone(2, "b", 600_000)
				before := n.warm(common, "all")
				var jitter atomic.Int64
				n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) {
					return answered, time.Duration(1+jitter.Add(7)%20) * time.Millisecond
				})
				var admitted atomic.Int64
				var wg sync.WaitGroup
				for range 256 {
					wg.Go(func() {
						for range 100 {
							takes := []limiter.Take{takeOf(common, "all", 1), takeOf(address, "192.0.2.1", 1)}
							n.fails(nil, takes...)
							if takes[0].Decision.OK && takes[1].Decision.OK {
								admitted.Add(1)
							}
							time.Sleep(17 * time.Millisecond)
						}
					})
				}
				wg.Wait()
				n.waitForReturns()
				if got := admitted.Load(); got != 10 {
					t.Errorf("admitted = %d, want 10", got)
				}
				if kind != limiter.TokenBucket { // which has refilled
					n.checkUsed(common, "all", before+10)
				}
				if s := n.Stats(); s.Lost != 0 {
					t.Errorf("stats = %+v, want nothing lost", s)
				}
			})
		})
	}
}

// TestDeniedLastIsAskedAlone asks for a key alone that was denied last, even when the denial is remembered no more: nothing is
// taken from a lease or asked of the lender in the other zones unless it is served.
func TestDeniedLastIsAskedAlone(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		leased, cold, own := n.fixed("a", 1, 1000), n.fixed("b", 2, 1000), n.rule(limiter.Rule{
			ID: 3, Zone: n.Open("c"), Limit: limiter.Limit{Events: 1, Window: 10 * time.Second},
		})
		before := n.warm(leased, "shared")
		n.allowed(own, "own", 1, limiter.FromStore)
		n.denied(own, "own", 1, limiter.FromStore)
		request := func() []limiter.Take {
			return []limiter.Take{takeOf(leased, "shared", 1), takeOf(cold, "shared", 1), takeOf(own, "own", 1)}
		}
		for range 3 {
			time.Sleep(1100 * time.Millisecond) // it is remembered no more
			left, asked := n.leased(leased, "shared"), n.lender.received()
			n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
				if got := n.leased(leased, "shared"); got != left || loans[0].Rule != own {
					t.Errorf("leased of the shared key while %+v is asked for = %d, want %d and nothing asked of others", loans, got, left)
				}
				return answered, rtt
			})
			takes := request()
			n.fails(nil, takes...)
			if !takes[0].Decision.OK || !takes[1].Decision.OK || takes[2].Decision.OK {
				t.Errorf("takes = %+v, want the last one denied", takes)
			}
			if got := n.lender.received() - asked; got != 1 {
				t.Errorf("loans = %d, want 1", got)
			}
		}
		n.lender.always(answered)
		time.Sleep(10 * time.Second)
		takes := request()
		n.fails(nil, takes...)
		for i, k := range takes {
			if !k.Decision.OK {
				t.Errorf("take %d = %+v, want it allowed", i, k.Decision)
			}
		}
		n.waitForReturns()
		n.checkUsed(leased, "shared", before+1)
		n.checkUsed(cold, "shared", 1)
	})
}

// TestSeveralDeniedLast asks first for the key with the latest retry instant, and only then for the others that were denied.
func TestSeveralDeniedLast(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		soon := n.rule(limiter.Rule{ID: 1, Zone: n.Open("a"), Limit: limiter.Limit{Events: 60, Window: 2 * time.Minute, Burst: 1}})
		late := n.rule(limiter.Rule{ID: 2, Zone: n.Open("b"), Limit: limiter.Limit{Events: 60, Window: 4 * time.Minute, Burst: 1}})
		for _, r := range []*limiter.Rule{soon, late} {
			n.allowed(r, r.Zone.Name(), 1, limiter.FromStore)
			n.denied(r, r.Zone.Name(), 1, limiter.FromStore)
		}
		var asked []*limiter.Rule
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			asked = append(asked, loans[0].Rule)
			return answered, rtt
		})
		for _, step := range []struct {
			wait time.Duration
			want []*limiter.Rule
		}{
			{2100 * time.Millisecond, []*limiter.Rule{late}},       // which denies
			{2100 * time.Millisecond, []*limiter.Rule{late, soon}}, // both serve
			{time.Hour, []*limiter.Rule{soon, late}},               // at the same time: neither has denied
		} {
			time.Sleep(step.wait)
			asked = nil
			n.fails(nil, takeOf(soon, "a", 1), takeOf(late, "b", 1))
			if len(asked) != len(step.want) || asked[0] != step.want[0] || asked[len(asked)-1] != step.want[len(step.want)-1] {
				t.Errorf("after %v: %d asked for, want %d in their order", step.wait, len(asked), len(step.want))
			}
		}
	})
}

// TestUndoOfALeaseThatHasGone takes from a lease what another zone denies after the lease was returned: so is that.
func TestUndoOfALeaseThatHasGone(t *testing.T) {
	for _, asking := range []bool{false, true} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			wide, narrow := n.fixed("a", 1, 10_000), n.fixed("b", 2, 1)
			before := n.warm(wide, "shared")
			n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
				if loans[0].Rule == narrow {
					return answered, 10 * rtt
				}
				return answered, 2 * rtt
			})
			var wg sync.WaitGroup
			wg.Go(func() { n.fails(nil, takeOf(wide, "shared", 3), takeOf(narrow, "own", 2)) })
			synctest.Wait()
			if asking {
				time.Sleep(9 * rtt)
			}
			more := n.leased(wide, "shared") + 1
			n.allowed(wide, "shared", more, limiter.FromStore) // returns what is leased, and brings another lease
			wg.Wait()
			n.waitForReplies()
			n.Open("a").Close()
			n.checkUsed(wide, "shared", before+more)
			if s := n.Stats(); s.Lost != 0 {
				t.Errorf("stats = %+v, want nothing lost", s)
			}
		})
	}
}

// TestUndoIsLostWithItsAccount counts as lost what a take has spent of a lease whose account has gone.
func TestUndoIsLostWithItsAccount(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 10_000), n.fixed("b", 2, 1)
		before := n.warm(wide, "shared")
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			if loans[0].Rule == narrow {
				return answered, 10 * rtt
			}
			return answered, rtt
		})
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(nil, takeOf(wide, "shared", 3), takeOf(narrow, "own", 2)) })
		synctest.Wait()
		n.Open("a").Close()
		wg.Wait()
		n.checkUsed(wide, "shared", before+3)
		if got := n.Stats().Lost; got != 3 {
			t.Errorf("lost = %d, want 3", got)
		}
	})
}

// TestReturnsOfAQueue returns of each lease what was spent of it, two leases by a loan, and loses what another run has lent.
func TestReturnsOfAQueue(t *testing.T) {
	e := func(at limiter.Instant, n int64) limiter.Events { return limiter.Events{At: at, N: n} }
	q := queue{returns: []granted{{e(1, 5), 7}, {e(2, 6), 8}, {e(3, 1), 7}, {e(1, 4), 7}, {e(4, 2), 7}}}
	l := limiter.LeaseRequest{Incarnation: 7}
	if lost := q.addReturns(&l); lost != 6 || l.Returns != [2]limiter.Events{e(1, 9), e(3, 1)} || q.empty() {
		t.Errorf("lost %d, returned %+v, nothing left: %v; want 6, 9 of 1 and 1 of 3, and something left", lost, l.Returns, q.empty())
	}
	l = limiter.LeaseRequest{Incarnation: 7}
	if lost := q.addReturns(&l); lost != 0 || l.Returns != [2]limiter.Events{e(4, 2)} || !q.empty() {
		t.Errorf("lost %d, returned %+v, nothing left: %v; want 0, 2 of 4, and nothing left", lost, l.Returns, q.empty())
	}
	q.returns = []granted{{e(1, 5), 7}}
	if lost := q.fail(errCut); lost != 5 {
		t.Errorf("lost with a loan that failed = %d, want 5", lost)
	}
}
