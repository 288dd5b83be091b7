package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// charge charges key under r. The error must be want.
func (n node) charge(r *limiter.Rule, key string, cost int64, want error) {
	n.t.Helper()
	if err := n.Charge(n.t.Context(), n.options.Clock(), []limiter.Take{takeOf(r, key, cost)}); err != want {
		n.t.Errorf("charge: %v, want %v", err, want)
	}
}

// consumed returns what the lender has consumed of key.
func (n node) consumed(r *limiter.Rule, key string) int64 {
	i, _ := n.lender.Inspect(n.t.Context(), 0, r, []byte(key))
	return i.Count.Consumed
}

// TestCharge charges more than a lease has. The lease is spent first, and the lender is charged the
// rest, however much that is. For a key without an account, the lender is charged everything.
func TestCharge(t *testing.T) {
	for _, kind := range []limiter.Kind{limiter.FixedWindow, limiter.TokenBucket} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.rule(limiter.Rule{Algorithm: limiter.Algorithm{Kind: kind}, Limit: limiter.Limit{Events: 1000, Window: time.Hour}})
			n.warm(r, "key")
			leased, used := n.leased(r, "key"), n.consumed(r, "key")
			n.charge(r, "key", leased-1, nil)
			if got, of := n.leased(r, "key"), n.consumed(r, "key"); got != 1 || of != used {
				t.Errorf("%v: %d leased and %d used, want 1 and %d", kind, got, of, used)
			}
			n.charge(r, "key", 10_001, nil)
			if got, of := n.leased(r, "key"), n.consumed(r, "key"); got != 0 || of != used+10_000 {
				t.Errorf("%v: %d leased and %d used, want none and %d", kind, got, of, used+10_000)
			}
			n.denied(r, "key", 1, limiter.FromStore)

			n.charge(r, "new", 2000, nil)
			n.denied(r, "new", 1, limiter.FromStore)
		})
	}
}

// TestChargeOfStrictRule checks that the lender is charged everything under a strict rule.
func TestChargeOfStrictRule(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{Strict: true, Limit: limiter.Limit{Events: 10, Window: time.Minute}})
		n.charge(r, "key", 25, nil)
		n.denied(r, "key", 1, limiter.FromStore)
		time.Sleep(96 * time.Second)
		n.allowed(r, "key", 1, limiter.FromStore)
	})
}

// TestChargeInOutage charges the local bucket, which may lack any number of events. The lender
// hears of one limit at most.
func TestChargeInOutage(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{Limit: limiter.Limit{Events: 10, Window: 10 * time.Second}})
		n.lender.always(unreachable)
		n.refundable(r, "key", 1, limiter.FromOutage)
		notAsked := fmt.Errorf("%w: open", limiter.ErrNotAsked)
		n.lender.chargeErr = notAsked
		n.charge(r, "key", 29, notAsked)
		time.Sleep(19 * time.Second)
		n.refundable(r, "other", 10, limiter.FromOutage)
		for wait := range 3 {
			time.Sleep(time.Second)
			takes := []limiter.Take{takeOf(r, "key", 1)}
			_ = n.Take(t.Context(), n.options.Clock(), takes)
			if want := wait > 0; takes[0].Decision.OK != want {
				t.Errorf("%d s after the charge: %+v, want OK %v", 20+wait, takes[0].Decision, want)
			}
		}
		if got := n.Stats().DebtDropped; got < 19 {
			t.Errorf("dropped debt = %d, want the 19 above one limit at least", got)
		}
	})
}
