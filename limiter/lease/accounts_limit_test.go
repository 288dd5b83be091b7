package lease

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestLoweredLimit lowers a limit. The leases under the old limit are returned and not spent.
func TestLoweredLimit(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		old, lowered := n.fixed("zone", 1, 10_000), n.fixed("zone", 1, 200)
		taken := n.warm(old, "key")
		n.denied(lowered, "key", 1, limiter.FromStore)
		n.waitForReplies()
		n.checkUsed(old, "key", taken)
		n.allowed(old, "key", 1, limiter.FromStore) // still by the old configuration
	})
}

// TestRaisedLimitClearsDenial clears a remembered denial at once.
func TestRaisedLimitClearsDenial(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		old, raised := n.fixed("zone", 1, 10), n.fixed("zone", 1, 11)
		n.allowed(old, "key", 10, limiter.FromStore)
		n.denied(old, "key", 1, limiter.FromStore)
		n.denied(old, "key", 1, limiter.FromRememberedDenial)
		n.allowed(raised, "key", 1, limiter.FromStore)
		n.denied(raised, "key", 1, limiter.FromStore)
	})
}

// TestChangedLimitKeepsCount raises a limit and lowers it, under every algorithm, with and without
// leases. Each change applies to the next take, and what was consumed counts under the new limit.
func TestChangedLimitKeepsCount(t *testing.T) {
	for _, kind := range kinds {
		for _, strict := range []bool{false, true} {
			inBubble(t, Options{}, func(t *testing.T, n node) {
				limit := func(events int64) *limiter.Rule {
					return n.rule(limiter.Rule{
						Algorithm: limiter.Algorithm{Kind: kind}, Strict: strict,
						Limit: limiter.Limit{Events: events, Window: limiter.MaxWindow},
					})
				}
				old, raised, lowered := limit(1000), limit(1500), limit(600)
				n.allowed(old, "key", 900, limiter.FromStore)
				n.denied(old, "key", 101, limiter.FromStore)
				n.denied(old, "key", 101, limiter.FromRememberedDenial)
				if d := n.allowed(raised, "key", 101, limiter.FromStore); d.Limit != 1500 || d.Remaining > 499 || d.Remaining < 490 {
					t.Errorf("%v, strict %v: take under the raised limit = %+v, want 499 remaining", kind, strict, d)
				}
				n.denied(lowered, "key", 1, limiter.FromStore)
				n.denied(lowered, "key", 1, limiter.FromRememberedDenial)
				n.allowed(raised, "key", 1, limiter.FromStore)
				n.waitForReturns()
				n.checkUsed(raised, "key", 1002)
				if t.Failed() {
					t.Fatalf("%v, strict %v", kind, strict)
				}
			})
		}
	}
}

// TestLimitChangesDuringRequest decides waiters by the new limit after a reply under the old one,
// and does not remember a denial of the old one.
func TestLimitChangesDuringRequest(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		old, raised := n.fixed("zone", 1, 10), n.fixed("zone", 1, 100)
		n.allowed(old, "key", 10, limiter.FromStore)
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 10 * rtt })
		var wg sync.WaitGroup
		wg.Go(func() { n.denied(old, "key", 5, limiter.FromStore) })
		synctest.Wait()
		wg.Go(func() { n.allowed(raised, "key", 5, limiter.FromStore) })
		wg.Wait()
		n.waitForReplies()
		n.checkUsed(raised, "key", 15+n.leased(raised, "key"))
	})
}

// TestServedUnderEarlierLimit raises the limit and resets the key while a request is under way. Its
// reply tells clients no more remaining events than the limit of the request has.
func TestServedUnderEarlierLimit(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		old, raised := n.fixed("zone", 1, 10), n.fixed("zone", 1, 100)
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 10 * rtt })
		var wg sync.WaitGroup
		wg.Go(func() {
			if d := n.allowed(old, "key", 1, limiter.FromStore); d.Remaining > d.Limit {
				t.Errorf("limit = %d, remaining = %d, want no more than the limit", d.Limit, d.Remaining)
			}
		})
		synctest.Wait()
		wg.Go(func() { n.allowed(raised, "key", 1, limiter.FromStore) })
		synctest.Wait()
		n.Drop(raised, []byte("key"))
		wg.Wait()
	})
}

// TestTiersShareARuleID keeps the lease of a key under its own limit, although the rule ID was last
// used with the limit of another tier.
func TestTiersShareARuleID(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		free, pro := n.fixed("zone", 1, 10_000), n.fixed("zone", 1, 20_000)
		n.warm(free, "free")
		n.warm(pro, "pro")
		leased := n.leased(free, "free")
		p := n.locationOf(free, "free")
		n.attend(due{zone: p.zone, hash: p.key.Hash}, n.now())
		n.waitForReplies()
		if got := n.leased(free, "free"); got != leased {
			t.Errorf("leased after attending to it = %d, want %d", got, leased)
		}
		n.allowed(free, "free", 1, limiter.FromLease)
		n.allowed(pro, "pro", 1, limiter.FromLease)
	})
}

// TestManyLimitsOfOneRuleID drops the oldest rules of an ID. Accounts under these rules are treated
// as under the newest rule.
func TestManyLimitsOfOneRuleID(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		old := n.fixed("zone", 1, 10_000)
		taken := n.warm(old, "key")
		for i := range int64(maxRulesPerID) {
			n.allowed(n.fixed("zone", 1, 100+i), "another", 1, limiter.FromStore)
		}
		if got := len(n.zoneOf(old).rules.list(1)); got != maxRulesPerID {
			t.Errorf("rules that are known = %d, want %d", got, maxRulesPerID)
		}
		n.waitForReturns()
		n.checkUsed(old, "key", taken)

		var rs rules
		same := n.fixed("zone", 1, 10_000)
		for _, r := range []*limiter.Rule{old, same, old, old} {
			rs.add(r)
		}
		if got := rs.list(1); len(got) != 1 || got[0] != old {
			t.Errorf("rules = %v, want the newest of the limit alone", got)
		}
	})
}
