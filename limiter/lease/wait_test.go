package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestWaitersShareRequests begins takes of one key at the same time. One request is sent for the
// first and another for those that came meanwhile, and exactly the limit is admitted.
func TestWaitersShareRequests(t *testing.T) {
	for _, waiters := range []int{1, 2, 6, 7, 8, 50} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.fixed("zone", 1, 7) // so few that nothing is leased
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
// in order as far as events are left. A take that finds too few is denied by a request of its own.
// Those after it are not denied with it.
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

// TestWaitersFailTogether fails a request. Every take that waits for it fails at once, and the next
// take sends another request.
func TestWaitersFailTogether(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 7) // so few that nothing is leased
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
		n.allowed(r, "key", 6, limiter.FromStore) // one was served, though the reply was lost
		n.denied(r, "key", 1, limiter.FromStore)
		if got := n.Stats().Lost; got != 2 {
			t.Errorf("lost = %d, want 2: one with a request, one with a reply", got)
		}
	})
}

// TestWaitersGiveUp has two waiters give up, one of which was sent. What is served to that one is
// canceled, and nothing is requested for the other.
func TestWaitersGiveUp(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
		r.OnOutage = limiter.OutageClosed
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 100 * time.Millisecond })
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(ErrTimeout, takeOf(r, "key", 5)) })
		time.Sleep(time.Millisecond)
		wg.Go(func() { n.fails(ErrTimeout, takeOf(r, "key", 3)) })
		wg.Wait()
		n.lender.always(answered)
		time.Sleep(time.Second)
		synctest.Wait()
		for i, l := range n.lender.requests {
			if want := int64(5); i == 0 && l.Need != want || i > 0 && l.Need != 0 {
				t.Errorf("need of request %d = %d, want %d by the first and nothing by others", i, l.Need, want)
			}
		}
		n.checkUsed(r, "key", 0)
	})
}

// TestLateReply serves takes that have given up. What nobody waits for is canceled, and takes that
// wait get theirs.
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
			time.Sleep(6 * time.Second) // what was leased has expired
			synctest.Wait()
			n.checkUsed(r, "key", 2*others)
		})
	}
}

// TestSilentLender never replies about one key. Its takes give up at the timeout, other keys are
// not held up, and Close returns.
func TestSilentLender(t *testing.T) {
	inBubble(t, Options{Timeout: 30 * time.Millisecond}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 7) // so few that nothing is leased
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

// TestSynchronousLender replies before Lend returns.
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
		n.checkUsed(a, "key", 5)
		n.checkUsed(b, "key", 5)
	})
}

// TestDeniedBetweenRounds requests nothing more when another request was denied in the meantime.
func TestDeniedBetweenRounds(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		narrow, wide := n.fixed("a", 1, 1), n.fixed("b", 2, 10)
		n.denied(narrow, "key", 2, limiter.FromStore)
		received := n.lender.received()
		q := n.newRequest(takeOf(narrow, "key", 2), takeOf(wide, "key", 1)) // both of which had no account before
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

// TestCredit admits takes of a new key without waiting, and settles them at once.
func TestCredit(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		begin := time.Now()
		n.allowed(r, "key", 2, limiter.FromCredit)
		if took := time.Since(begin); took != 0 {
			t.Errorf("take on credit took %v, want no time", took)
		}
		n.allowed(r, "key", 3, limiter.FromCredit) // while the first is being settled
		if _, debt := n.outstanding(r, "key"); debt != 5 {
			t.Errorf("debt = %d, want 5", debt)
		}
		if got := n.Stats().Debt; got != 5 {
			t.Errorf("debt = %d, want 5", got)
		}
		n.waitForReplies()
		n.checkUsed(r, "key", 5+n.leased(r, "key"))
		if got := n.Stats(); got.Credited != 5 || got.Settled != 5 || got.Debt != 0 {
			t.Errorf("stats = %+v, want 5 credited and settled, and no debt", got)
		}
	})
}

// ruleOfTwenty returns a rule of 20 events.
func (n node) ruleOfTwenty(kind limiter.Kind, strict bool) *limiter.Rule {
	return n.rule(limiter.Rule{
		Algorithm: limiter.Algorithm{Kind: kind}, Strict: strict, MaxOvershoot: 0.01,
		Limit: limiter.Limit{Events: 20, Window: 24 * time.Hour},
	})
}

// TestQueueingIsNotAnOutage sends thousands of takes of a key to a lender that replies long after
// they give up. Exactly the limit is admitted, and the lender hears of each event.
func TestQueueingIsNotAnOutage(t *testing.T) {
	for _, kind := range kinds {
		for _, strict := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v/strict=%v", kind, strict), func(t *testing.T) {
				inBubble(t, Options{}, func(t *testing.T, n node) {
					n.lender.busy()
					n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 180 * time.Millisecond })
					r := n.ruleOfTwenty(kind, strict)
					var admitted, late atomic.Int64
					var wg sync.WaitGroup
					for range 3000 {
						wg.Go(func() {
							for range 5 {
								d := n.take(r, "key", 1)
								if d.OK {
									admitted.Add(1)
								}
								if d.Source == limiter.FromKnownState {
									late.Add(1)
								}
							}
						})
					}
					wg.Wait()
					n.lender.always(answered)
					n.waitForReturns()
					if got := admitted.Load(); got != 20 || late.Load() < 3000 {
						t.Errorf("admitted = %d, by the newest known state = %d, want 20, and 3000 or more", got, late.Load())
					}
					n.checkUsed(r, "key", 20)
				})
			})
		}
	}
}

// TestNewestKnownStateDecides takes more than the lender has left while it replies too late.
// Exactly what is left is admitted.
func TestNewestKnownStateDecides(t *testing.T) {
	for _, f := range []fate{answered, refused} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.ruleOfTwenty(limiter.FixedWindow, true)
			n.allowed(r, "key", 14, limiter.FromStore)
			n.lender.busy()
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return f, 120 * time.Millisecond })
			for i, want := range []bool{true, true, true, false} {
				if d := n.take(r, "key", 2); d.OK != want || d.Source != limiter.FromKnownState || d.Remaining != max(0, 4-2*int64(i)) {
					t.Errorf("take %d = %+v, want OK %v by the newest known state", i, d, want)
				}
			}
			n.lender.always(answered)
			n.waitForReturns()
			n.checkUsed(r, "key", 20) // what the lender was not asked for, it has debited since
		})
	}
}

// TestOutageIsNotQueueing fails takes when the lender does not reply at all, or fails for another
// reason.
func TestOutageIsNotQueueing(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.ruleOfTwenty(limiter.FixedWindow, true)
		n.lender.always(silence)
		n.fails(ErrTimeout, takeOf(r, "silent", 1))
		n.lender.always(refused)
		takes := []limiter.Take{takeOf(r, "refused", 1)}
		if err := n.Take(t.Context(), n.options.Clock(), takes); !errors.Is(err, limiter.ErrLate) || takes[0].Err != err {
			t.Errorf("take = %v, want %v", err, limiter.ErrLate)
		}
		n.lender.busy()
		n.lender.always(lostReply)
		n.fails(errCut, takeOf(r, "cut", 1))
	})
}
