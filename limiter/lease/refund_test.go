package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// refundable takes cost events of key and returns the take. from must admit it.
func (n node) refundable(r *limiter.Rule, key string, cost int64, from limiter.Source) limiter.Take {
	n.t.Helper()
	takes := []limiter.Take{takeOf(r, key, cost)}
	takes[0].Origin = new(limiter.Origin)
	_ = n.Take(n.t.Context(), n.options.Clock(), takes)
	if d := takes[0].Decision; !d.OK || d.Source != from {
		n.t.Fatalf("take = %+v, want it admitted by %v", d, from)
	}
	return takes[0]
}

func (n node) refund(k limiter.Take) {
	n.t.Helper()
	if err := n.Refund(n.t.Context(), n.options.Clock(), []limiter.Take{k}); err != nil {
		n.t.Fatal(err)
	}
}

// TestRefundToLease puts the events of a take back into its lease, without a request. The refunded
// events still count as demand.
func TestRefundToLease(t *testing.T) {
	for _, kind := range []limiter.Kind{limiter.FixedWindow, limiter.TokenBucket} {
		inBubble(t, Options{}, func(t *testing.T, n node) {
			r := n.rule(limiter.Rule{Algorithm: limiter.Algorithm{Kind: kind}, Limit: limiter.Limit{Events: 1000, Window: time.Hour}})
			n.warm(r, "key")
			leased, requests := n.leased(r, "key"), n.Stats().Requests
			k := n.refundable(r, "key", 1, limiter.FromLease)
			var before, after uint32
			n.withAccount(r, k.Key, func(a account) { before = a.taken })
			n.refund(k)
			n.withAccount(r, k.Key, func(a account) { after = a.taken })
			if got := n.leased(r, "key"); got != leased || n.Stats().Requests != requests || before != after {
				t.Errorf("%v: leased %d after %d more requests, demand %d, want %d, none and %d",
					kind, got, n.Stats().Requests-requests, after, leased, before)
			}
		})
	}
}

// TestRefundAfterLease refunds a take whose lease has expired, was returned, or was lost with its
// zone. In the end, the lender counts only the takes of the test.
func TestRefundAfterLease(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(n node, r *limiter.Rule) (taken int64)
		lost uint64
	}{
		"over": {func(n node, r *limiter.Rule) int64 {
			time.Sleep(n.expiresIn(r, "key") + time.Second)
			return 0
		}, 0},
		"returned": {func(n node, r *limiter.Rule) int64 {
			more := n.leased(r, "key") + 1
			n.allowed(r, "key", more, limiter.FromStore)
			return more
		}, 0},
		"closed": {func(n node, _ *limiter.Rule) int64 {
			n.Open("zone").Close()
			return 1
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				r := n.fixed("zone", 1, 10_000)
				taken := n.warm(r, "key")
				k := n.refundable(r, "key", 1, limiter.FromLease)
				taken += tc.end(n, r)
				n.waitForReplies()
				n.refund(k)
				n.waitForReplies()
				n.Open("zone").Close()
				n.waitForReplies()
				n.checkUsed(r, "key", taken)
				if got := n.Stats().Lost; got != tc.lost {
					t.Errorf("lost = %d, want %d", got, tc.lost)
				}
			})
		})
	}
}

// TestRefundToLender refunds takes that the lender has served, by what the lender had counted then.
// So a bucket that lacks more gets back the whole take, although it has refilled meanwhile.
func TestRefundToLender(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{Limit: limiter.Limit{Events: 10, Window: 10 * time.Second}}) // no parts
		n.allowed(r, "key", 5, limiter.FromStore)
		k := n.refundable(r, "key", 1, limiter.FromStore)
		n.allowed(r, "key", 4, limiter.FromStore)
		n.denied(r, "key", 1, limiter.FromStore)
		time.Sleep(500 * time.Millisecond)
		n.denied(r, "key", 1, limiter.FromRememberedDenial)
		n.refund(k)
		n.allowed(r, "key", 1, limiter.FromStore) // the denial is not remembered any more
		n.denied(r, "key", 1, limiter.FromStore)

		n.lender.mu.Lock()
		n.lender.incarnation = 2
		n.lender.mu.Unlock()
		time.Sleep(5 * time.Second)
		n.allowed(r, "key", 1, limiter.FromStore)
		used := n.lender.used(r, "key")
		n.refund(k) // granted by an incarnation that may have lost the take
		if got := n.lender.used(r, "key"); got != used || n.Stats().Lost != 1 {
			t.Errorf("used = %d and %d lost, want %d and 1", got, n.Stats().Lost, used)
		}
	})
}

// TestRefundInOutage gives the events of a take back to the local bucket. The lender does not hear
// of them.
func TestRefundInOutage(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 3)
		n.lender.always(unreachable)
		k := n.refundable(r, "key", 2, limiter.FromOutage)
		n.refund(k)
		n.refundable(r, "key", 3, limiter.FromOutage)
		n.lender.always(answered)
		time.Sleep(3 * time.Second)
		n.checkUsed(r, "key", 3)
	})
}
