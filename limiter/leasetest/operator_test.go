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
		r := mustRule(limiter.Rule{Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 70, Window: time.Minute}})
		g, now := NewLedger(a.Algorithm), epoch
		l := lendOne(g, 1, now, limiter.LeaseRequest{Rule: r, Need: 20, Want: 40})
		g.AddQuota(r, now, 1000)
		got, want := g.Inspect(r, now), int64(0)
		if r.LeaseSlot() > 0 {
			want = l.Granted
		}
		if got.Consumed != want || got.Leased != want || got.LeasedUntil != l.Expires || l.Granted == 0 {
			t.Errorf("%s: state after all was given back = %+v, want the lease of %d alone", a.name, got, l.Granted)
		}
		back := limiter.LeaseRequest{Rule: r, Incarnation: 1, Returns: [2]limiter.Return{{Events: limiter.Events{At: l.Decision.At, N: l.Granted}, Share: l.GrantedShare}}}
		if got := lendOne(g, 1, now, back).Decision.Remaining; got != 70 {
			t.Errorf("%s: remaining after the return = %d, want 70", a.name, got)
		}
	}
}

// TestRefundFromBeforeResetWritesNothing refunds what was served before a reset. The count is not
// even moved to the instant of the refund, as Redis does not write it either.
func TestRefundFromBeforeResetWritesNothing(t *testing.T) {
	for _, a := range algorithms {
		r := mustRule(limiter.Rule{Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 70, Window: time.Minute}})
		g := NewLedger(a.Algorithm)
		before := lendOne(g, 1, epoch, limiter.LeaseRequest{Rule: r, Need: 20}).Decision
		g.Reset(r, epoch+sec)
		after := lendOne(g, 1, epoch+2*sec, limiter.LeaseRequest{Rule: r, Need: 7}).Decision
		g.Refund(r, epoch+3*sec, limiter.Events{At: before.At, N: 20}, before.Seen())
		if got := g.Newest(); got != after.At || g.Consumed() != 7 {
			t.Errorf("%s: newest write after a refund from before a reset = %v with %d consumed, want %v with 7",
				a.name, sinceEpoch(got), g.Consumed(), sinceEpoch(after.At))
		}
		g.Refund(r, epoch+3*sec, limiter.Events{At: after.At, N: 7}, after.Seen())
		if g.Newest() != epoch+3*sec || g.Consumed() != 0 {
			t.Errorf("%s: newest write after a refund = %v with %d consumed, want it to be written, with none",
				a.name, sinceEpoch(g.Newest()), g.Consumed())
		}
	}
}
