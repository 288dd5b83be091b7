package lease

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestUndoOfManyAtOnce serves many takes of one key by one request, all of which are denied by another zone: what was served
// is undone once, by few requests.
func TestUndoOfManyAtOnce(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			if loans[0].Rule == narrow {
				return answered, 10 * rtt // wide has served all when it denies
			}
			return answered, rtt
		})
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
		time.Sleep(6 * time.Second)
		synctest.Wait()
		n.checkUsed(wide, "shared", 0)
		if got := n.lender.received() - 50; got > 10 {
			t.Errorf("loans of the shared key for 50 takes that are undone = %d, want at most 10", got)
		}
	})
}

// TestUndoWhileAsking undoes what was served while the account asks for others: the next loan does it.
func TestUndoWhileAsking(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 8), n.fixed("b", 2, 1)
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			if loans[0].Rule == narrow {
				return answered, 3 * rtt
			}
			return answered, 2 * rtt
		})
		var wg sync.WaitGroup
		wg.Go(func() { // served at 2, denied at 3
			n.fails(nil, takeOf(wide, "shared", 8), takeOf(narrow, "key", 2))
		})
		time.Sleep(5 * rtt / 2)
		// Asks at 2.5, and is denied for what is undone at once afterwards: so the denial is not remembered.
		n.denied(wide, "shared", 1, limiter.FromStore)
		wg.Wait()
		n.waitForReplies()
		n.allowed(wide, "shared", 8, limiter.FromStore)
		n.checkUsed(wide, "shared", 8)
	})
}

// TestUndoAfterTheLeaseEnded gives back to a lease what another zone denied after it had ended: it goes back at once.
func TestUndoAfterTheLeaseEnded(t *testing.T) {
	inBubble(t, Options{Timeout: 20 * time.Second}, func(t *testing.T, n node) {
		wide, slow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		before := n.warm(wide, "key")
		ended := n.expiresIn(wide, "key") // and goes back a little later
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			if loans[0].Rule == slow {
				return answered, ended
			}
			return answered, rtt
		})
		n.fails(nil, takeOf(wide, "key", n.leased(wide, "key")-1), takeOf(slow, "key", 2))
		n.waitForReplies()
		n.checkUsed(wide, "key", before)
	})
}

// TestUndoInARestartedStore does not undo what another run of the lender has served.
func TestUndoInARestartedStore(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			if loans[0].Rule == narrow {
				return answered, 10 * rtt
			}
			return answered, rtt
		})
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(nil, takeOf(wide, "shared", 3), takeOf(narrow, "key", 2)) })
		time.Sleep(2 * rtt)
		n.lender.mu.Lock()
		n.lender.incarnation = 2
		n.lender.mu.Unlock()
		n.allowed(wide, "shared", 300, limiter.FromStore) // tells the account of the new run
		wg.Wait()
		n.waitForReplies()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if got := n.lender.used(wide, "shared"); got < 303 { // and what was leased of the other run
			t.Errorf("used = %d, want 303 or more", got)
		}
		if got := n.Stats().Lost; got != 4 {
			t.Errorf("lost = %d, want 4: what was served, and the lease that came with it", got)
		}
	})
}

// TestUndoIsLostWithAFailure counts as lost what was to be undone by a loan that would have followed one that failed.
func TestUndoIsLostWithAFailure(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			switch {
			case loans[0].Rule == narrow:
				return answered, 3 * rtt
			case loans[0].Need == 7:
				return lostRequest, 4 * rtt
			}
			return answered, rtt
		})
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(nil, takeOf(wide, "shared", 3), takeOf(narrow, "key", 2)) }) // undone at 3
		time.Sleep(2 * rtt)
		wg.Go(func() { n.fails(errCut, takeOf(wide, "shared", 7)) }) // fails at 6
		wg.Wait()
		n.waitForReplies()
		used := n.lender.used(wide, "shared")
		if got := int64(n.Stats().Lost); used < 3 || got != used+7 { // what was leased went back with the loan that failed
			t.Errorf("used %d, lost %d, want 3 or more, and all of it lost with the 7 that were asked for", used, got)
		}
	})
}
