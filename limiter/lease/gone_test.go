package lease

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestDroppedBetweenTwoSteps drops a zone while a take of it is between two steps: what has not begun to wait is left to the
// lender, and nothing is refilled.
func TestDroppedBetweenTwoSteps(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
		n.Open("zone").Close()
		q := n.newRequest(takeOf(r, "key", 1))
		k := &q.takes[0]
		if n.round(t.Context(), q); k.Err != nil || k.state != delegated {
			t.Errorf("take = %+v in state %d, want it in %d: delegated", k.Take, k.state, delegated)
		}
		n.refill(k, q.now)
		if got := n.lender.received(); got != 0 {
			t.Errorf("loans of a zone that was dropped = %d, want none", got)
		}
	})
}

// TestDeniedBetweenTwoSteps asks for nothing more when another request has heard meanwhile that one of the takes is denied.
func TestDeniedBetweenTwoSteps(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		narrow, wide := n.fixed("a", 1, 1), n.fixed("b", 2, 10)
		n.denied(narrow, "key", 2, limiter.FromStore)
		asked := n.lender.received()
		q := n.newRequest(takeOf(narrow, "key", 2), takeOf(wide, "key", 1)) // both of which had no account before
		begin := time.Now()
		if n.round(t.Context(), q); q.takes[0].state != denied || q.takes[1].state != undecided {
			t.Errorf("takes in state %d and %d, want %d: denied, and %d: undecided",
				q.takes[0].state, q.takes[1].state, denied, undecided)
		}
		if got := n.lender.received() - asked; got != 0 || time.Since(begin) != 0 {
			t.Errorf("loans after a denial = %d in %v, want none and no waiting", got, time.Since(begin))
		}
	})
}

// TestGoneWhileWaiting asks for two takes that give up, of which only one has flown: what is served to that one is undone, and
// nothing is asked for in the name of the other.
func TestGoneWhileWaiting(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
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
				t.Errorf("need of loan %d = %d, want %d by the first and nothing by others", i, l.Need, want)
			}
		}
		n.checkUsed(r, "key", 0)
	})
}

// TestDroppedZoneFails fails a take that is left to the lender, and keeps what the other zones got.
func TestDroppedZoneFails(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		dropped, open := n.fixed("a", 1, 10), n.fixed("b", 2, 10)
		n.Open("a").Close()
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			if loans[0].Rule == dropped {
				return lostRequest, rtt
			}
			return answered, rtt
		})
		n.fails(errCut, takeOf(dropped, "key", 1), takeOf(open, "key", 1))
		n.waitForReturns()
		n.checkUsed(open, "key", 1)
	})
}
