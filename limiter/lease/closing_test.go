package lease

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestCloseZoneGivesBack closes a zone with leases: they are back when it returns, and its keys start fresh when it is opened again.
func TestCloseZoneGivesBack(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r, other := n.fixed("zone", 1, 10_000), n.fixed("a", 2, 10_000)
		taken := make(map[string]int64)
		for i := range 20 {
			key := fmt.Sprint("key", i)
			taken[key] = n.warm(r, key)
		}
		n.warm(other, "key")
		leased, book := n.leased(other, "key"), n.zoneOf(r)
		book.Close()
		book.Close() // is closed
		if got := book.accounts.Len(); got != 0 {
			t.Errorf("accounts of the zone that was closed = %d, want none", got)
		}
		for key, want := range taken {
			n.checkUsed(r, key, want)
		}
		n.checkAccounts(1)
		if got := n.leased(other, "key"); got != leased {
			t.Errorf("leased in another zone after Close = %d, want %d", got, leased)
		}
		r = n.reopened(r)
		if n.Open("zone") != r.Zone {
			t.Error("another zone was opened beside one of the same name")
		}
		n.allowed(r, "key1", 1, limiter.FromStore)
		n.checkAccounts(2)
	})
}

// TestCloseZoneWaitsForRequests closes a zone while its account asks: the takes that wait are decided, and what they bring back
// returns.
func TestCloseZoneWaitsForRequests(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10_000)
		taken := n.warm(r, "key") // wants a lease with its next loan
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 20 * time.Millisecond })
		var wg sync.WaitGroup
		wg.Go(func() { n.allowed(r, "key", 500, limiter.FromStore) })
		time.Sleep(time.Millisecond)
		wg.Go(func() { n.allowed(r, "key", 600, limiter.FromStore) })
		time.Sleep(time.Millisecond)
		begin := time.Now()
		n.Open("zone").Close()
		if took := time.Since(begin); took < 38*time.Millisecond || took > 50*time.Millisecond {
			t.Errorf("Close took %v, want it to wait for two answers, or as long as a take at most", took)
		}
		wg.Wait()
		n.checkAccounts(0)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		n.checkUsed(r, "key", taken+1100)
	})
}

// TestTakeInClosedZone leaves to the lender what it finds no account for any more.
func TestTakeInClosedZone(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
		book := n.zoneOf(r)
		n.Open("zone").Close()
		n.allowed(r, "key", 1, limiter.FromStore)
		n.Close()
		n.allowed(r, "key", 1, limiter.FromStore)
		n.Close()

		// A take that had looked up the book just before: no account is opened in it.
		p := n.locationOf(r, "key")
		p.shard.Lock()
		defer p.shard.Unlock()
		if _, ok, _ := p.addLocked(r, n.options.Clock()); ok || book.accounts.Len() != 0 {
			t.Errorf("an account was opened in a book that has ended, which says it has %d", book.accounts.Len())
		}
		n.checkUsed(r, "key", 2)
	})
}

// TestUndoInClosedZone undoes what was served in a zone that was closed before another zone denied.
func TestUndoInClosedZone(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.fixed("a", 1, 1000), n.fixed("b", 2, 1)
		n.lender.decide(func(loans []limiter.LeaseRequest) (fate, time.Duration) {
			if loans[0].Rule == narrow {
				return answered, 10 * rtt
			}
			return answered, 2 * rtt
		})
		var wg sync.WaitGroup
		wg.Go(func() { n.fails(nil, takeOf(wide, "shared", 3), takeOf(narrow, "key", 2)) })
		time.Sleep(rtt)
		n.Open("a").Close() // while it is asking, so its account stays until it has heard
		wg.Wait()
		n.waitForReplies()
		n.checkUsed(wide, "shared", 0)
	})
}

// TestCloseOfMany gives back more than goes at a time.
func TestCloseOfMany(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		const keys = 3 * drainSize
		r := n.fixed("zone", 1, 1000)
		for i := range keys {
			n.grant(r, fmt.Sprint("key", i), 5)
		}
		begin := time.Now()
		n.Close()
		if took := time.Since(begin); took > 10*rtt {
			t.Errorf("Close took %v, want a few times %v", took, rtt)
		}
		for i := range keys {
			n.checkUsed(r, fmt.Sprint("key", i), 0)
		}
	})
}

// TestCloseWithoutAnAnswer gives up when the lender does not answer.
func TestCloseWithoutAnAnswer(t *testing.T) {
	for _, delay := range []time.Duration{time.Hour, 900 * time.Millisecond} {
		inBubble(t, Options{Timeout: time.Second}, func(t *testing.T, n node) {
			r := n.fixed("zone", 1, 1000)
			for i := range 15 * drainSize {
				n.grant(r, fmt.Sprint("key", i), 5)
			}
			n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return lostRequest, delay })
			begin := time.Now()
			n.Close()
			want := min(drainFor, n.options.Timeout)
			if delay < n.options.Timeout {
				want = drainFor
			}
			if took := time.Since(begin); took < want || took > want+delay && delay < time.Hour {
				t.Errorf("Close with answers after %v took %v, want %v", delay, took, want)
			}
		})
	}
}

// lease makes an account hold a lease of so many events, as if the lender had just lent them.
func (n node) grant(r *limiter.Rule, key string, events int64) {
	n.t.Helper()
	loans := []limiter.LeaseRequest{{Rule: r, Key: []byte(key), Want: events}}
	n.lender.lend(loans)
	p := n.locationOf(r, key)
	now := n.options.Clock()
	p.shard.Lock()
	a, ok := p.findLocked()
	if !ok {
		a, _, _ = p.addLocked(r, now)
	}
	var l limiter.LeaseRequest
	a.request(r, now, 0, 0, &l)
	a.applyReply(r, now, now, &loans[0], 0, false)
	p.zone.rules.add(r)
	_, ends := a.nextReturn(r, now)
	p.shard.Unlock()
	n.wheel.add(due{ends, p.zone, p.key.Hash})
}
