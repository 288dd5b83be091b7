package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestHotKey takes a key 5000 times per second for two seconds. Hardly any take waits, few requests
// are sent, and unspent events are returned in the end.
func TestHotKey(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.rule(limiter.Rule{
					Algorithm: limiter.Algorithm{Kind: kind},
					Limit:     limiter.Limit{Events: 1_000_000, Window: time.Minute},
				})
				const takes = 10_000
				local, every, requests := 0, 200*time.Microsecond, uint64(0)
				if kind == limiter.TokenBucket { // the share follows the demand of half a minute
					every = 2 * time.Millisecond
					for range 30_000 {
						n.take(r, "key", 1)
						time.Sleep(every)
					}
					requests = n.Stats().Requests
				}
				for range takes {
					if d := n.take(r, "key", 1); !d.OK {
						t.Fatalf("take = %+v, want it allowed", d)
					} else if d.Source == limiter.FromLease {
						local++
					}
					time.Sleep(every)
				}
				if local < takes*99/100 {
					t.Errorf("takes from leases = %d of %d, want 99 %%", local, takes)
				}
				if got := n.Stats().Requests - requests; got > takes/100 {
					t.Errorf("requests = %d for %d takes, want at most 1 %%", got, takes)
				}
				n.waitForReturns()
				if kind == limiter.TokenBucket {
					time.Sleep(4 * time.Minute) // a part of an ample bucket lasts for that long at most
				} else { // a bucket has refilled
					n.checkUsed(r, "key", takes)
				}
				if leased := n.leased(r, "key"); leased != 0 {
					t.Errorf("leased after all have expired = %d, want none", leased)
				}
				s := n.Stats() // takes may spend more of a part than was granted at once
				if someReturned := s.Returned+s.Expired > 0 || kind == limiter.TokenBucket; !someReturned || s.Lost != 0 {
					t.Errorf("stats = %+v, want some returned and none lost", s)
				}
			})
		})
	}
}

// TestDenialIsRemembered repeats a denial for takes of the same cost and of higher costs, until the
// retry instant of the lender.
func TestDenialIsRemembered(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{Limit: limiter.Limit{Events: 120, Window: time.Minute, Burst: 10}}) // 2 per second
		n.allowed(r, "key", 8, limiter.FromStore)
		first := n.denied(r, "key", 3, limiter.FromStore)
		if got := time.Duration(first.RetryAt-first.At) * time.Microsecond; got < 490*time.Millisecond || got > 500*time.Millisecond {
			t.Errorf("retry after %v, want 500 ms less what has passed", got)
		}
		received := n.lender.received()
		for range 400 {
			time.Sleep(time.Millisecond)
			n.denied(r, "key", 3, limiter.FromRememberedDenial)
		}
		if got := n.lender.received(); got != received {
			t.Errorf("requests while the denial is remembered = %d, want none", got-received)
		}
		n.denied(r, "key", 4, limiter.FromRememberedDenial)
		n.allowed(r, "key", 2, limiter.FromStore) // the lower cost was not denied
		time.Sleep(1600 * time.Millisecond)
		n.allowed(r, "key", 3, limiter.FromStore)
	})
}
