package leasestore

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestAccountsRestAfterFailures spends what is leased while the lender fails, without asking it at every take: once at low
// water, and again after a pause. When it is back, so is the account.
func TestAccountsRestAfterFailures(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := fixed(t, "zone", 1, 1_000_000)
		n.warm(r, "key")
		n.lease(r, "key", 30) // in the place of what it had
		n.lender.delay = 0
		n.lender.always(lostRequest)
		before, spent := n.Stats().Requests, 0
		for n.leased(r, "key") > 0 {
			n.allowed(r, "key", 1, limiter.FromLease)
			spent++
			time.Sleep(10 * time.Millisecond)
		}
		if got := n.Stats().Requests - before; spent < 20 || got < 1 || got > 2 {
			t.Errorf("requests while %d takes were decided in %v = %d, want 1 or 2", spent, time.Duration(spent)*10*time.Millisecond, got)
		}
		n.fails(errCut, ask(r, "key", 1)) // who has to wait asks nevertheless
		n.fails(errCut, ask(r, "key", 1))

		n.lender.delay = rtt
		n.lender.always(answered)
		n.allowed(r, "key", 1, limiter.FromStore)
		leased := n.leased(r, "key")
		for range leased {
			n.take(r, "key", 1)
			time.Sleep(time.Millisecond)
		}
		n.settled()
		if got := n.leased(r, "key"); got == 0 {
			t.Errorf("leased after %d takes = %d, want more: it was to be refilled in the background", leased, got)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		b := n.books.Load().of(r)
		for i := range b.shards {
			if got := len(b.shards[i].rests); got != 0 {
				t.Errorf("accounts of shard %d that rest in the end = %d, want none", i, got)
			}
		}
	})
}
