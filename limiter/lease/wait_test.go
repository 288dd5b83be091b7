package lease

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestWaitersShareRequests begins takes of one key at the same time. One request is sent for the
// first take, and another one for the takes that came meanwhile. Exactly the limit is admitted.
func TestWaitersShareRequests(t *testing.T) {
	for _, waiters := range []int{1, 2, 6, 7, 8, 50} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.fixed("zone", 1, 7)
			r.Strict = true // nothing is leased
			var wg sync.WaitGroup
			takes := make([]limiter.Take, waiters)
			for i := range takes {
				wg.Go(func() {
					takes[i] = takeOf(r, "key", 1)
					if err := n.Take(t.Context(), n.options.Clock(), takes[i:i+1]); err != nil {
						t.Errorf("take: %v", err)
					}
				})
			}
			wg.Wait()
			admitted := 0
			for _, k := range takes {
				if k.Decision.OK {
					admitted++
				}
			}
			if want := min(7, waiters); admitted != want {
				t.Errorf("admitted %d of %d, want %d", admitted, waiters, want)
			}
			if got := n.lender.received(); got > 3 {
				t.Errorf("requests for %d takes at the same time = %d, want at most 3", waiters, got)
			}
			n.waitForReplies()
			n.checkUsed(r, "key", int64(min(7, waiters)))
		})
	}
}

// TestWaitersWithDifferentCosts has takes of different costs wait for one request. They are served
// in order as far as events are left. If too few events are left for a take, a request of its own
// is denied. The takes after it are not denied with it.
func TestWaitersWithDifferentCosts(t *testing.T) {
	for _, line := range []struct {
		costs []int64
		ok    []bool
	}{
		{[]int64{1, 4, 5}, []bool{true, true, true}},
		{[]int64{1, 8, 2, 1}, []bool{true, true, false, true}},
		{[]int64{11, 10}, []bool{false, true}},
		{[]int64{11, 12, 3, 7, 1}, []bool{false, false, true, true, false}},
		{[]int64{10, 1, 1, 1}, []bool{true, false, false, false}},
	} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.fixed("zone", 1, 10)
			var wg sync.WaitGroup
			var want int64
			takes := make([]limiter.Take, len(line.costs))
			for i, cost := range line.costs {
				wg.Go(func() {
					takes[i] = takeOf(r, "key", cost)
					if err := n.Take(t.Context(), n.options.Clock(), takes[i:i+1]); err != nil {
						t.Errorf("%v: take %d: %v", line.costs, i, err)
					}
				})
				synctest.Wait() // it has joined
				if line.ok[i] {
					want += cost
				}
			}
			wg.Wait()
			for i, k := range takes {
				if k.Decision.OK != line.ok[i] {
					t.Errorf("%v: take %d: %+v, want OK %v", line.costs, i, k.Decision, line.ok[i])
				}
			}
			n.waitForReplies()
			n.checkUsed(r, "key", want)
		})
	}
}

// TestWaitersFailTogether fails the requests of a key. Each take that waits for one of them, or for
// the next request, fails at once. The next take sends another request.
func TestWaitersFailTogether(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 7)
		r.Strict = true // nothing is leased
		for _, f := range []fate{lostRequest, lostReply} {
			n.lender.always(f)
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if took := n.fails(errCut, takeOf(r, "key", 1)); took != rtt {
						t.Errorf("a take that fails took %v, want %v", took, rtt)
					}
				})
			}
			wg.Wait()
		}
		n.lender.always(answered)
		n.allowed(r, "key", 5, limiter.FromStore) // two takes were served, but the replies lost
		n.denied(r, "key", 1, limiter.FromStore)
		if got := n.Stats().Lost; got != 4 {
			t.Errorf("lost = %d, want 4: two with requests, two with replies", got)
		}
	})
}

// TestWaitersGiveUp has three waiters give up. Two of them were sent in a request: the events
// served to them are canceled. Nothing is requested for the third.
func TestWaitersGiveUp(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
		r.OnOutage = limiter.OutageClosed
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 100 * time.Millisecond })
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(ErrTimeout, takeOf(r, "key", 5)) })
		time.Sleep(time.Millisecond)
		wg.Go(func() { n.fails(ErrTimeout, takeOf(r, "key", 3)) })
		time.Sleep(time.Millisecond)
		wg.Go(func() { n.fails(ErrTimeout, takeOf(r, "key", 1)) })
		wg.Wait()
		n.lender.always(answered)
		n.waitForReturns()
		for i, l := range n.lender.requests {
			if want := append([]int64{5, 3}, make([]int64, i)...)[i]; l.Need != want {
				t.Errorf("need of request %d = %d, want %d: 5 by the first, 3 by the second, nothing by others", i, l.Need, want)
			}
		}
		n.checkUsed(r, "key", 0)
	})
}

// TestLateReply has a reply serve takes that have given up. Their events are canceled, and takes
// that wait get their own.
func TestLateReply(t *testing.T) {
	for _, others := range []int64{0, 1, 3} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.fixed("zone", 1, 10)
			r.OnOutage = limiter.OutageClosed
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 80 * time.Millisecond })
			n.fails(ErrTimeout, takeOf(r, "key", 2)) // after 50 ms
			n.lender.decide(nil)
			var wg sync.WaitGroup
			for range others {
				wg.Go(func() { n.allowed(r, "key", 2, limiter.FromStore) }) // they wait for 30 ms
			}
			wg.Wait()
			n.waitForReturns()
			n.checkUsed(r, "key", 2*others)
		})
	}
}

// TestSilentLender has a lender that never replies about one key. The takes of the key give up at
// the timeout, other keys are not held up, and Close returns.
func TestSilentLender(t *testing.T) {
	inBubble(t, Options{Timeout: 30 * time.Millisecond}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 7)
		r.Strict = true // nothing is leased
		n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
			if string(requests[0].Key) == "silent" {
				return silence, rtt
			}
			return answered, rtt
		})
		for range 3 {
			if took := n.fails(ErrTimeout, takeOf(r, "silent", 1)); took != 30*time.Millisecond {
				t.Errorf("a take without a reply took %v, want 30 ms", took)
			}
			n.allowed(r, "other", 1, limiter.FromStore)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		disconnected := errors.New("the client has disconnected")
		time.AfterFunc(time.Millisecond, func() { cancel(disconnected) })
		if err := n.Take(ctx, n.options.Clock(), []limiter.Take{takeOf(r, "silent", 1)}); err != disconnected {
			t.Errorf("take whose context is canceled = %v, want its cause", err)
		}
		begin := time.Now()
		n.Close()
		if took := time.Since(begin); took > 40*time.Millisecond {
			t.Errorf("Close took %v, want some 30 ms", took)
		}
	})
}

// TestSynchronousLender has a lender that replies before Lend returns.
func TestSynchronousLender(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		n.lender.delay = 0
		a, b := n.fixed("a", 1, 10), n.fixed("b", 2, 5)
		for range 5 {
			takes := []limiter.Take{takeOf(a, "key", 1), takeOf(b, "key", 1)}
			if took := n.fails(nil, takes...); took != 0 || !takes[0].Decision.OK || !takes[1].Decision.OK {
				t.Errorf("take = %+v and %+v in %v, want it allowed at once", takes[0].Decision, takes[1].Decision, took)
			}
		}
		n.denied(b, "key", 1, limiter.FromStore)
		n.lender.always(lostRequest)
		n.fails(errCut, takeOf(a, "another", 1))
		n.lender.always(answered)
		n.checkUsed(a, "key", 5+n.leased(a, "key"))
		n.checkUsed(b, "key", 5)
	})
}

// TestDeniedBetweenRounds checks that a set requests nothing more if a reply to another request has
// denied one of its takes in the meantime.
func TestDeniedBetweenRounds(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		narrow, wide := n.fixed("a", 1, 1), n.fixed("b", 2, 10)
		n.denied(narrow, "key", 2, limiter.FromStore)
		received := n.lender.received()
		q := n.newTakeSet(takeOf(narrow, "key", 2), takeOf(wide, "key", 1)) // neither key had an account
		begin := time.Now()
		if n.round(t.Context(), q); q.takes[0].state != denied || q.takes[1].state != undecided {
			t.Errorf("takes in state %d and %d, want %d: denied, and %d: undecided",
				q.takes[0].state, q.takes[1].state, denied, undecided)
		}
		if got := n.lender.received() - received; got != 0 || time.Since(begin) != 0 {
			t.Errorf("requests after a denial = %d in %v, want none and no waiting", got, time.Since(begin))
		}
	})
}

// TestFirstTakeWaits has the first take of a key wait for one round trip.
func TestFirstTakeWaits(t *testing.T) {
	for _, kind := range kinds {
		inBubble(t, Options{Nodes: twoNodes}, func(t *testing.T, n node) {
			r := n.rule(limiter.Rule{Algorithm: limiter.Algorithm{Kind: kind}, Limit: limiter.Limit{Events: 1000, Window: time.Minute}})
			begin := time.Now()
			n.allowed(r, "key", 2, limiter.FromStore)
			if took := time.Since(begin); took != rtt {
				t.Errorf("%v: the first take took %v, want %v", kind, took, rtt)
			}
			n.checkUsed(r, "key", 2+n.leased(r, "key"))
		})
	}
}
