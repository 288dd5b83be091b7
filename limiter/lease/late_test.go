package lease

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// twenty returns a rule of 20 events.
func (n node) ruleOfTwenty(kind limiter.Kind, strict bool) *limiter.Rule {
	return n.rule(limiter.Rule{
		Algorithm: limiter.Algorithm{Kind: kind}, Strict: strict, MaxOvershoot: 0.01,
		Limit: limiter.Limit{Events: 20, Window: 24 * time.Hour},
	})
}

// TestQueueingIsNotAnOutage sends thousands of takes of a key to a lender that answers much later than they wait: the limit is
// admitted and nothing else, and the lender knows of each event.
func TestQueueingIsNotAnOutage(t *testing.T) {
	for _, kind := range kinds {
		for _, strict := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v/strict=%v", kind, strict), func(t *testing.T) {
				inBubble(t, Options{}, func(t *testing.T, n node) {
					n.lender.busy()
					n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 180 * time.Millisecond })
					r := n.ruleOfTwenty(kind, strict)
					var admitted, known atomic.Int64
					var wg sync.WaitGroup
					for range 3000 {
						wg.Go(func() {
							for range 5 {
								d := n.take(r, "key", 1)
								if d.OK {
									admitted.Add(1)
								}
								if d.Source == limiter.FromKnownState {
									known.Add(1)
								}
							}
						})
					}
					wg.Wait()
					n.lender.always(answered)
					n.waitForReturns()
					if got := admitted.Load(); got != 20 || known.Load() < 3000 {
						t.Errorf("admitted = %d, by what is known = %d, want 20, and 3000 or more", got, known.Load())
					}
					n.checkUsed(r, "key", 20)
				})
			})
		}
	}
}

// TestNewestKnownStateDecides takes twice as much as the lender has left while it does not answer in time: what is left is admitted.
func TestNewestKnownStateDecides(t *testing.T) {
	for _, f := range []fate{answered, refused} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.ruleOfTwenty(limiter.FixedWindow, true)
			n.allowed(r, "key", 14, limiter.FromStore)
			n.lender.busy()
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return f, 120 * time.Millisecond })
			for i, want := range []bool{true, true, true, false} {
				if d := n.take(r, "key", 2); d.OK != want || d.Source != limiter.FromKnownState || d.Remaining != max(0, 4-2*int64(i)) {
					t.Errorf("take %d = %+v, want OK %v by what is known", i, d, want)
				}
			}
			n.lender.always(answered)
			n.waitForReturns()
			want := int64(20)
			if f == refused { // it was never asked
				want = 14
			}
			n.checkUsed(r, "key", want)
		})
	}
}

// TestOutageIsNotQueueing degrades takes when the lender does not answer at all, or fails for another reason.
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

// TestUndoOfALateTake admits a take by what is known, which another zone denies: nothing of it is consumed in the end, whatever
// becomes of it in between.
func TestUndoOfALateTake(t *testing.T) {
	for _, test := range []struct {
		name   string
		fate   fate
		delay  time.Duration // of the answer; the request waits for 50 ms in the one zone, and for 50 ms again in the other
		leased bool
	}{
		{"not answered yet", answered, 500 * time.Millisecond, false},
		{"served meanwhile", answered, 70 * time.Millisecond, false},
		{"failed meanwhile", refused, 70 * time.Millisecond, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				wide, narrow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
				n.lender.busy()
				n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
					return test.fate, test.delay
				})
				q := n.newRequest(takeOf(wide, "wide", 3), takeOf(narrow, "narrow", 1))
				k := &q.takes[0]
				q.takes[1].selected = false
				n.round(t.Context(), q)
				if d := k.Decision; k.state != admitted || d.Source != limiter.FromKnownState || d.Remaining != 997 {
					t.Fatalf("take = %+v in state %d, want it admitted late", k.Take, k.state)
				}
				time.Sleep(50 * time.Millisecond)
				q.takes[1].state = denied
				n.undoAll(q)
				if d := k.Decision; d.Remaining < 997 {
					t.Errorf("decision after it was undone = %+v", d)
				}
				n.lender.always(answered)
				n.waitForReturns()
				n.checkUsed(wide, "wide", 0)
				if got := n.take(wide, "wide", 1).Remaining; got != 999 {
					t.Errorf("remaining after another take = %d, want 999", got)
				}
			})
		})
	}
}

// TestUndoOfALateTakeFromALease admits a take by what is known, which is then spent from the lease that another one brings.
func TestUndoOfALateTakeFromALease(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("a", 1, 100_000)
		before := n.warm(r, "key") + n.leased(r, "key") + 1
		n.lender.busy()
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 80 * time.Millisecond })
		var wg sync.WaitGroup
		wg.Go(func() { n.allowed(r, "key", n.leased(r, "key")+1, limiter.FromKnownState) })
		synctest.Wait()
		q := n.newRequest(takeOf(r, "key", 1))
		k := &q.takes[0]
		n.round(t.Context(), q)
		wg.Wait()
		time.Sleep(40 * time.Millisecond)
		synctest.Wait()
		if w := k.waiter; k.Decision.Source != limiter.FromKnownState || w.status != replied || w.served {
			t.Fatalf("waiter = %+v of %+v, want it spent from a lease", w, k.Take)
		}
		n.lender.always(answered)
		for range 2 { // the second one is of an account that has gone
			n.undo(k, n.options.Clock())
			n.Open("a").Close()
		}
		n.checkUsed(r, "key", before)
	})
}

// TestLateInADroppedZone fails a take whose account has gone when it is to be decided by what is known.
func TestLateInADroppedZone(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("a", 1, 10)
		n.lender.busy()
		k := &n.newRequest(takeOf(r, "key", 1)).takes[0]
		k.waiter = &waiter{status: replied, err: limiter.ErrLate}
		k.shard.Lock()
		n.takeLateLocked(k, n.options.Clock())
		k.shard.Unlock()
		if k.state != failed || k.Err != ErrTimeout {
			t.Errorf("take = %+v in state %d, want %v", k.Take, k.state, ErrTimeout)
		}
	})
}

// TestKeysWithoutAccountsQueue takes many keys that find no room, while the lender answers others. All
// of them together are admitted the limit.
func TestKeysWithoutAccountsQueue(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{
			Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, MaxKeys: 1,
			Limit: limiter.Limit{Events: 20, Window: 24 * time.Hour},
		})
		n.denied(r, "at its limit, so it stays", 21, limiter.FromStore)
		n.lender.busy()
		n.lender.always(refused)
		for i := range 30 {
			if d := n.take(r, fmt.Sprint("key", i), 1); d.OK != (i < 20) || d.Source != limiter.FromKnownState {
				t.Errorf("take %d = %+v, want OK %v by what is known", i+1, d, i < 20)
			}
		}
		n.lender.always(lostReply)
		n.fails(errCut, takeOf(r, "cut", 1))
	})
}
