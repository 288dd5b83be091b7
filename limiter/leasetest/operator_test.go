package leasetest

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestAddQuotaKeepsLeases gives back all that was consumed while a lease is out. As far as a ledger
// tells leased events from others, they stay consumed until they are returned, and nothing is given
// back twice.
func TestAddQuotaKeepsLeases(t *testing.T) {
	for _, a := range algorithms {
		r := mustRule(limiter.Rule{Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 70, Window: time.Minute}, MaxOvershoot: 0.3})
		g, now := NewLedger(a.Algorithm), epoch
		l := lendOne(g, 1, 1, now, limiter.LeaseRequest{Rule: r, Need: 20, Want: 40})
		g.AddQuota(r, now, 1000)
		got, want := g.Inspect(r, now), int64(0)
		if r.LeaseSlot() > 0 {
			want = l.Granted
		}
		if got.Consumed != want || got.Leased != want || got.LeasedUntil != l.Expires || l.Granted == 0 {
			t.Errorf("%s: state after all was given back = %+v, want the lease of %d alone", a.name, got, l.Granted)
		}
		back := limiter.LeaseRequest{Rule: r, Incarnation: 1, Returns: [2]limiter.Events{{At: l.Decision.At, N: l.Granted}}}
		if got := lendOne(g, 1, 1, now, back).Decision.Remaining; got != 70 {
			t.Errorf("%s: remaining after the return = %d, want 70", a.name, got)
		}
	}
}
