package lease

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestUndoManyAtOnce serves many takes of one key by one request, and then another zone denies all
// of them. Few requests cancel the served events, each event once.
func TestUndoManyAtOnce(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		n.lender.delayAnswers(narrow, 10*rtt, rtt) // by then wide has served all
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				takes := []limiter.Take{takeOf(wide, "shared", 2), takeOf(narrow, fmt.Sprint("own", i), 2)}
				n.fails(nil, takes...)
				if !takes[0].Decision.OK || takes[1].Decision.OK {
					t.Errorf("takes = %+v, want the second denied", takes)
				}
			})
		}
		wg.Wait()
		n.waitForReturns()
		n.checkUsed(wide, "shared", 0)
		if got := n.lender.received() - 50; got > 10 {
			t.Errorf("requests of the shared key for 50 takes that were undone = %d, want at most 10", got)
		}
	})
}

// TestUndoDuringRequest cancels served events while the account has a request under way. The next
// request carries the cancel.
func TestUndoDuringRequest(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 8), n.fixed("b", 2, 1)
		n.lender.delayAnswers(narrow, 3*rtt, 2*rtt)
		var wg sync.WaitGroup
		wg.Go(func() { // served at 2 ms, denied at 3 ms
			n.fails(nil, takeOf(wide, "shared", 8), takeOf(narrow, "key", 2))
		})
		time.Sleep(5 * rtt / 2)
		// This request is sent at 2.5 ms. It is denied because of events that are canceled right
		// after it, so the denial is not remembered.
		n.denied(wide, "shared", 1, limiter.FromStore)
		wg.Wait()
		n.waitForReplies()
		n.allowed(wide, "shared", 8, limiter.FromStore)
		n.checkUsed(wide, "shared", 8)
	})
}

// TestUndoAfterLeaseExpired has another zone deny a take after the lease of the take has expired.
// The events are returned at once.
func TestUndoAfterLeaseExpired(t *testing.T) {
	inBubble(t, Options{Timeout: 20 * time.Second}, func(t *testing.T, n node) {
		wide, slow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		before := n.warm(wide, "key")
		lasts := n.expiresIn(wide, "key")
		n.lender.delayAnswers(slow, lasts, rtt)
		n.fails(nil, takeOf(wide, "key", n.leased(wide, "key")-1), takeOf(slow, "key", 2))
		n.waitForReplies()
		n.checkUsed(wide, "key", before)
	})
}

// TestUndoAfterLeaseWasReturned has another zone deny a take after the lease of the take was
// returned. The events are returned too.
func TestUndoAfterLeaseWasReturned(t *testing.T) {
	for _, requesting := range []bool{false, true} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			wide, narrow := n.fixed("a", 1, 10_000), n.fixed("b", 2, 1)
			before := n.warm(wide, "shared")
			n.lender.delayAnswers(narrow, 10*rtt, 2*rtt)
			var wg sync.WaitGroup
			wg.Go(func() { n.fails(nil, takeOf(wide, "shared", 3), takeOf(narrow, "own", 2)) })
			synctest.Wait()
			if requesting {
				time.Sleep(9 * rtt)
			}
			more := n.leased(wide, "shared") + 1
			n.allowed(wide, "shared", more, limiter.FromStore) // returns the lease, and gets another
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

// TestUndoWithFullBackground undoes a take from a lease that has expired since. The lease is
// returned as soon as a background call may begin.
func TestUndoWithFullBackground(t *testing.T) {
	inBubble(t, Options{Timeout: 20 * time.Second}, func(t *testing.T, n node) {
		wide, slow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		taken := n.warm(wide, "key")
		leased := n.leased(wide, "key")
		n.lender.delayAnswers(slow, 10*time.Second, rtt)
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(nil, takeOf(wide, "key", leased), takeOf(slow, "key", 2)) })
		time.Sleep(rtt)
		release := n.fillBackground(maxBackground) // the wheel attends to the lease, which is spent
		wg.Wait()
		n.checkUsed(wide, "key", taken+leased)
		release()
		n.waitForReturns()
		n.checkUsed(wide, "key", taken)
		n.checkIdle(wide)
	})
}

// TestUndoLateTake admits a take late, and then another zone denies the request. In the end nothing
// is consumed, whatever happens to the lease request in between.
func TestUndoLateTake(t *testing.T) {
	for _, test := range []struct {
		name   string
		fate   fate
		delay  time.Duration // of the reply; the request waits 50 ms in each of the zones
		leased bool
	}{
		{"without a reply yet", answered, 500 * time.Millisecond, false},
		{"served meanwhile", answered, 70 * time.Millisecond, false},
		{"failed meanwhile", refused, 70 * time.Millisecond, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				wide, narrow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
				n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
					return test.fate, test.delay
				})
				q := n.newTakeSet(takeOf(wide, "wide", 3), takeOf(narrow, "narrow", 1))
				k := &q.takes[0]
				q.takes[1].selected = false
				n.round(t.Context(), q)
				n.takeInOutage(t.Context(), q)
				if d := k.Decision; k.state != admitted || d.Source != limiter.FromLate || d.Remaining != 997 {
					t.Fatalf("take = %+v in state %d, want it admitted late", k.Take, k.state)
				}
				time.Sleep(50 * time.Millisecond)
				q.takes[1].state = denied
				n.undoAll(t.Context(), q)
				if d := k.Decision; d.Remaining < 997 {
					t.Errorf("decision after undoing it = %+v", d)
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

// TestUndoWithoutAccountIsLost counts the events of an undone take as lost if the account of its
// lease was removed.
func TestUndoWithoutAccountIsLost(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 10_000), n.fixed("b", 2, 1)
		before := n.warm(wide, "shared")
		n.lender.delayAnswers(narrow, 10*rtt, rtt)
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

// TestUndoInAnotherIncarnation undoes a take after another incarnation of the lender has replied.
// It does not cancel what the earlier incarnation has served.
func TestUndoInAnotherIncarnation(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		n.lender.delayAnswers(narrow, 10*rtt, rtt)
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(nil, takeOf(wide, "shared", 3), takeOf(narrow, "key", 2)) })
		time.Sleep(2 * rtt)
		n.lender.mu.Lock()
		n.lender.incarnation = 2
		n.lender.mu.Unlock()
		n.allowed(wide, "shared", 300, limiter.FromStore) // tells the account of the new incarnation
		wg.Wait()
		n.waitForReplies()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if got := n.lender.used(wide, "shared"); got < 303 { // by the two incarnations
			t.Errorf("used = %d, want 303 or more", got)
		}
		if got := n.Stats().Lost; got != 5 {
			t.Errorf("lost = %d, want 5: what was served, and the lease that came with it", got)
		}
	})
}

// TestUndoIsLostWithFailure counts events as lost if they were to be canceled by the request after
// one that has failed.
func TestUndoIsLostWithFailure(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
			switch {
			case requests[0].Rule == narrow:
				return answered, 3 * rtt
			case requests[0].Need == 7:
				return lostRequest, 4 * rtt
			}
			return answered, rtt
		})
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(nil, takeOf(wide, "shared", 3), takeOf(narrow, "key", 2)) }) // undone at 3 ms
		time.Sleep(2 * rtt)
		wg.Go(func() { n.fails(errCut, takeOf(wide, "shared", 7)) }) // fails at 6 ms
		wg.Wait()
		n.waitForReplies()
		used := n.lender.used(wide, "shared")
		if got := int64(n.Stats().Lost); used < 3 || got != used+7 { // with the returned lease
			t.Errorf("used %d, lost %d, want 3 or more, and all of it lost with the 7 that were requested", used, got)
		}
	})
}

// TestUndoInClosedZone cancels events that were served in a zone, after the zone was closed and
// another zone has denied.
func TestUndoInClosedZone(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		n.lender.delayAnswers(narrow, 10*rtt, 2*rtt)
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(nil, takeOf(wide, "shared", 3), takeOf(narrow, "key", 2)) })
		time.Sleep(rtt)
		n.Open("a").Close() // during a request, so that the account stays until the reply
		wg.Wait()
		n.waitForReplies()
		n.checkUsed(wide, "shared", 0)
	})
}
