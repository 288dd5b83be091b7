package lease

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestEvictionReturnsLease evicts an account with a lease, which is returned.
func TestEvictionReturnsLease(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.boundedRule(10_000, 1)
		taken := n.warm(r, "old")
		for i := range 5 {
			time.Sleep(10 * time.Millisecond)
			n.allowed(r, fmt.Sprint("new", i), 1, limiter.FromStore)
			n.checkAccounts(1)
		}
		n.checkUsed(r, "old", taken)
	})
}

// TestEvictsLeastRecentlyUsed checks that the accounts that were used last are not evicted.
func TestEvictsLeastRecentlyUsed(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.boundedRule(10_000, 2000)
		for i := range 2000 {
			n.allowed(r, fmt.Sprint("key", i), 1, limiter.FromStore)
		}
		time.Sleep(time.Second)
		for i := 1000; i < 2000; i++ {
			n.allowed(r, fmt.Sprint("key", i), 1, limiter.FromStore)
		}
		time.Sleep(time.Second)
		for i := range 500 {
			n.allowed(r, fmt.Sprint("new", i), 1, limiter.FromStore)
		}
		n.checkAccounts(2000)
		kept := 0
		for i := 1000; i < 2000; i++ {
			if k := takeOf(r, fmt.Sprint("key", i), 1); n.knows(&k, n.now(), false) {
				kept++
			}
		}
		if kept < 930 { // only about sixteen accounts of a shard are compared with each other
			t.Errorf("kept %d of the 1000 accounts that were used last, want 930 or more", kept)
		}
	})
}

// TestAccountsNotEvictable checks that no account is evicted that remembers a denial, is at its
// local limit or has a request under way. If there are no other accounts, the lender decides new
// keys.
func TestAccountsNotEvictable(t *testing.T) {
	inBubble(t, Options{Timeout: time.Second}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{
			Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, MaxKeys: 3,
			Limit: limiter.Limit{Events: 10, Window: 10 * time.Second},
		})
		n.denied(r, "denied", 11, limiter.FromStore)
		n.owes(r, "limited", 10)
		n.lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) { return answered, 500 * time.Millisecond })
		go n.allowed(r, "requesting", 5, limiter.FromStore)
		synctest.Wait()
		for i := range 5 {
			n.allowed(r, fmt.Sprint("new", i), 1, limiter.FromStore)
		}
		n.checkAccounts(3)
		for _, key := range []string{"denied", "limited", "requesting"} {
			p := n.locationOf(r, key)
			if _, ok := p.findLocked(); !ok {
				t.Errorf("the account of the %s key was evicted", key)
			}
		}
		n.denied(r, "denied", 11, limiter.FromRememberedDenial)
		time.Sleep(time.Second)
	})
}

// TestEvictionWithFullBackground evicts accounts that have nothing to return. If there are none,
// the lender decides the new key.
func TestEvictionWithFullBackground(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.boundedRule(10_000, 2)
		taken := n.warm(r, "leased")
		n.allowed(r, "empty", 1, limiter.FromStore)
		leased := n.leased(r, "leased")
		release := n.fillBackground(maxBackground)
		n.allowed(r, "new", 1, limiter.FromStore) // evicts "empty", though it was used last
		n.grant(r, "new", 5)
		n.allowed(r, "newer", 1, limiter.FromStore)
		if got := n.leased(r, "leased"); got != leased {
			t.Errorf("leased = %d, want %d as before", got, leased)
		}
		n.checkUsed(r, "newer", 1)
		n.checkAccounts(2)
		release()
		n.allowed(r, "newest", 1, limiter.FromStore)
		n.waitForReplies()
		n.checkAccounts(2)
		if got := n.lender.used(r, "leased") + n.lender.used(r, "new"); got != taken+1+5 && got != taken+1+leased {
			t.Errorf("used when calls may begin = %d, want one lease to be returned: %d or %d", got, taken+1+5, taken+1+leased)
		}
		n.checkIdle(r)
	})
}

// TestLoweredMaxKeys lowers the number of keys. Each new key evicts a few accounts until the bound
// is met.
func TestLoweredMaxKeys(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		wide, narrow := n.boundedRule(100, 20), n.boundedRule(100, 10)
		for i := range 20 {
			n.allowed(wide, fmt.Sprint("key", i), 1, limiter.FromStore)
		}
		for i, want := range []int{17, 14, 11, 10, 10} {
			n.allowed(narrow, fmt.Sprint("new", i), 1, limiter.FromStore)
			n.checkAccounts(want)
		}
	})
}

// TestSameKeyTwiceInFullZone takes one key under two rules in a zone with room for one account.
// Either the second take evicts the account of the first, or the lender decides it. No call has two
// requests under one rule.
func TestSameKeyTwiceInFullZone(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		first, second := n.boundedRule(1000, 1), n.rule(limiter.Rule{
			ID: 2, Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, MaxKeys: 1,
			Limit: limiter.Limit{Events: 1000, Window: time.Hour},
		})
		n.lender.decide(func(requests []limiter.LeaseRequest) (fate, time.Duration) {
			for i := range requests {
				for j := range i {
					if requests[i].Rule.ID == requests[j].Rule.ID {
						t.Errorf("two requests of a call have the rule %d", requests[i].Rule.ID)
					}
				}
			}
			return answered, rtt
		})
		taken := n.warm(second, "key")
		for range 4 {
			takes := []limiter.Take{takeOf(first, "key", 1), takeOf(second, "key", 1)}
			n.fails(nil, takes...)
			if !takes[0].Decision.OK || !takes[1].Decision.OK {
				t.Errorf("takes = %+v, want both allowed", takes)
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(6 * time.Second)
		n.checkUsed(first, "key", 4)
		n.checkUsed(second, "key", taken+4)
		n.checkAccounts(1)
	})
}
