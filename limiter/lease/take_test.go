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

var kinds = []limiter.Kind{limiter.TokenBucket, limiter.SlidingWindowLog, limiter.SlidingWindow, limiter.FixedWindow}

// TestHotKey takes a key as fast as it goes for two seconds: hardly any take waits, few are asked about, and what was not
// spent is back when all leases have ended.
func TestHotKey(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.rule(limiter.Rule{
					Algorithm: limiter.Algorithm{Kind: kind}, MaxOvershoot: 0.01,
					Limit: limiter.Limit{Events: 1_000_000, Window: time.Minute},
				})
				const takes = 10_000
				local := 0
				for range takes {
					if d := n.take(r, "key", 1); !d.OK {
						t.Fatalf("take = %+v, want it allowed", d)
					} else if d.Source == limiter.FromLease {
						local++
					}
					time.Sleep(200 * time.Microsecond)
				}
				if local < takes*99/100 {
					t.Errorf("takes from leases = %d of %d, want 99 %%", local, takes)
				}
				if got := n.Stats().Requests; got > takes/100 {
					t.Errorf("requests = %d for %d takes, want at most 1 %%", got, takes)
				}
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if kind != limiter.TokenBucket { // which has refilled
					n.checkUsed(r, "key", takes)
				}
				if leased := n.leased(r, "key"); leased != 0 {
					t.Errorf("leased after all have ended = %d, want none", leased)
				}
				s := n.Stats()
				if got, want := s.Returned+s.Expired, uint64(0); got == want || s.Lost != 0 {
					t.Errorf("stats = %+v, want some returned and none lost", s)
				}
			})
		})
	}
}

// TestTakesThatWaitTogether begins takes of one key at the same time: one request asks for the first, a second one for what
// came meanwhile, and exactly the limit is admitted.
func TestTakesThatWaitTogether(t *testing.T) {
	for _, takers := range []int{1, 2, 6, 7, 8, 50} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.fixed("zone", 1, 7) // of which nothing is lent in advance
			var wg sync.WaitGroup
			takes := make([]limiter.Take, takers)
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
			if want := min(7, takers); admitted != want {
				t.Errorf("admitted %d of %d, want %d", admitted, takers, want)
			}
			if got := n.lender.received(); got > 3 {
				t.Errorf("loans for %d takes at the same time = %d, want at most 3", takers, got)
			}
			n.waitForReplies()
			n.checkUsed(r, "key", int64(min(7, takers)))
		})
	}
}

// TestCostsThatWaitTogether has takes of different costs wait for one loan: they are served in their order as far as there
// is, a take that finds too little is denied by a loan of its own, and those after it are not denied with it.
func TestCostsThatWaitTogether(t *testing.T) {
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

// TestDenialIsRemembered denies without asking, for costs at least as high and until the instant that the lender said.
func TestDenialIsRemembered(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{Limit: limiter.Limit{Events: 120, Window: time.Minute, Burst: 10}}) // one in 500 ms
		n.allowed(r, "key", 8, limiter.FromStore)
		first := n.denied(r, "key", 3, limiter.FromStore)
		if got := time.Duration(first.RetryAt-first.At) * time.Microsecond; got < 490*time.Millisecond || got > 500*time.Millisecond {
			t.Errorf("retry after %v, want 500 ms less what has passed", got)
		}
		asked := n.lender.received()
		for range 400 {
			time.Sleep(time.Millisecond)
			n.denied(r, "key", 3, limiter.FromRememberedDenial)
		}
		if got := n.lender.received(); got != asked {
			t.Errorf("loans while the denial is remembered = %d, want none", got-asked)
		}
		n.denied(r, "key", 4, limiter.FromRememberedDenial)
		n.allowed(r, "key", 2, limiter.FromStore) // the lower cost was not denied
		time.Sleep(1600 * time.Millisecond)
		n.allowed(r, "key", 3, limiter.FromStore)
	})
}

// TestFailures has requests fail: every take that waited for them does, at once, and the next one asks again.
func TestFailures(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 7) // of which nothing is lent in advance
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

// TestSilence has a lender answer nothing about one key: its takes wait for as long as they may and no longer, others are
// not held up, and Close ends.
func TestSilence(t *testing.T) {
	inBubble(t, Options{Timeout: 30 * time.Millisecond}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 7) // of which nothing is lent in advance
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			if string(loans[0].Key) == "silent" {
				return silence, rtt
			}
			return answered, rtt
		})
		for range 3 {
			if took := n.fails(ErrTimeout, takeOf(r, "silent", 1)); took != 30*time.Millisecond {
				t.Errorf("a take without an answer took %v, want 30 ms", took)
			}
			n.allowed(r, "other", 1, limiter.FromStore)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the client has gone")
		time.AfterFunc(time.Millisecond, func() { cancel(gone) })
		if err := n.Take(ctx, n.options.Clock(), []limiter.Take{takeOf(r, "silent", 1)}); err != gone {
			t.Errorf("take whose context ends = %v, want its cause", err)
		}
		begin := time.Now()
		n.Close()
		if took := time.Since(begin); took > 40*time.Millisecond {
			t.Errorf("Close took %v, want some 30 ms", took)
		}
	})
}

// TestLateAnswer serves takes that have given up: what nobody waits for any more is undone, what others wait for is theirs.
func TestLateAnswer(t *testing.T) {
	for _, others := range []int64{0, 1, 3} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.fixed("zone", 1, 10)
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 80 * time.Millisecond })
			n.fails(ErrTimeout, takeOf(r, "key", 2)) // after 50 ms
			n.lender.decide(nil)
			var wg sync.WaitGroup
			for range others {
				wg.Go(func() { n.allowed(r, "key", 2, limiter.FromStore) }) // they wait for 30 ms
			}
			wg.Wait()
			time.Sleep(6 * time.Second) // what is leased has ended
			synctest.Wait()
			n.checkUsed(r, "key", 2*others)
		})
	}
}

// TestSynchronousLender is answered before Lend returns.
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
