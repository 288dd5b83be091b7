package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// creditRule returns a rule under which each of two nodes has a credit of 5 events a window of 10 seconds.
func (n node) creditRule(maxKeys int) *limiter.Rule {
	n.t.Helper()
	return n.rule(limiter.Rule{
		Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, MaxOvershoot: 0.02, MaxKeys: maxKeys,
		Limit: limiter.Limit{Events: 1000, Window: creditWindow},
	})
}

// creditWindow is the window of creditRule.
const creditWindow = 10 * time.Second

func twoNodes() int { return 2 }

func alwaysSettled() bool { return true }

// TestCredit admits takes of a new key at once, and settles them at once.
func TestCredit(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		begin := time.Now()
		n.allowed(r, "key", 2, limiter.FromCredit)
		if took := time.Since(begin); took != 0 {
			t.Errorf("take on credit took %v, want no time", took)
		}
		n.allowed(r, "key", 3, limiter.FromCredit) // while the first is being settled
		if _, owed := n.outstanding(r, "key"); owed != 5 {
			t.Errorf("owed = %d, want 5", owed)
		}
		if got := n.Stats().Debt; got != 5 {
			t.Errorf("debt = %d, want 5", got)
		}
		n.waitForReplies()
		n.checkUsed(r, "key", 5+n.leased(r, "key"))
		if got := n.Stats(); got.Credited != 5 || got.Settled != 5 || got.Debt != 0 {
			t.Errorf("stats = %+v, want 5 credited and settled, and no debt", got)
		}
	})
}

// TestNoCredit gives none while other nodes do not count this one, nor in strict zones, nor after a denial, nor twice in a window.
func TestNoCredit(t *testing.T) {
	counted := false
	inBubble(t, Options{Nodes: twoNodes, Settled: func() bool { return counted }}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		n.allowed(r, "not counted", 1, limiter.FromStore)
		counted = true
		n.allowed(r, "grown", 1, limiter.FromCredit)
		n.waitForReplies()
		n.allowed(r, "grown", 500, limiter.FromStore)
		n.denied(r, "denied", 1001, limiter.FromStore)
		n.allowed(r, "denied", 1, limiter.FromStore)
		strict := n.rule(limiter.Rule{ID: 2, Strict: true, MaxOvershoot: 1, Limit: limiter.Limit{Events: 1000, Window: time.Minute}})
		n.allowed(strict, "strict", 1, limiter.FromStore)
	})
}

// TestNoCreditForAWindow gives none before the store has run for a whole window of the rule.
func TestNoCreditForAWindow(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(0)
		restarted := node{t, New(n.lender, n.options), n.lender}
		r = restarted.reopened(r)
		defer restarted.Close()
		time.Sleep(creditWindow - time.Millisecond)
		restarted.allowed(r, "young", 1, limiter.FromStore)
		restarted.waitForReplies()
		restarted.allowed(r, "grown", 1, limiter.FromCredit)
	})
}

// TestDebtIsSettledAfterFailures tells the lender again what was admitted on credit, with a pause after each failure, though
// nobody takes any more; and never twice.
func TestDebtIsSettledAfterFailures(t *testing.T) {
	for _, f := range []fate{lostRequest, lostReply} {
		inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
			r := n.creditRule(0)
			n.lender.always(f)
			n.allowed(r, "key", 5, limiter.FromCredit)
			time.Sleep(4 * time.Second)
			if got := n.Stats().Requests; got < 6 || got > 8 {
				t.Errorf("requests in 4 s = %d, want 6 to 8: after pauses of 0.1, 0.2, 0.4 and 0.8 s or so, and of a second or two", got)
			}
			if _, owed := n.outstanding(r, "key"); owed != 5 {
				t.Errorf("owed while nothing is answered = %d, want 5", owed)
			}
			n.lender.always(answered)
			time.Sleep(3 * time.Second)
			if _, owed := n.outstanding(r, "key"); owed != 0 {
				t.Errorf("owed when all is answered = %d, want 0", owed)
			}
			var lent int64 // of which we heard nothing when the reply was lost
			for _, l := range n.lender.requests {
				lent += l.Granted - l.Returns[0].N - l.Returns[1].N
			}
			n.checkUsed(r, "key", 5+lent)
			asked := n.lender.received()
			time.Sleep(time.Minute)
			if got := n.lender.received(); got != asked {
				t.Errorf("loans after all is settled = %d, want none", got-asked)
			}
		})
	}
}

// TestCreditOnceThoughForgotten gives no credit to keys whose accounts may have been forgotten within a window: those of a
// zone in which one was evicted, or that was dropped.
func TestCreditOnceThoughForgotten(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(3)
		for i := range 3 {
			n.allowed(r, fmt.Sprint("key", i), 5, limiter.FromCredit)
		}
		n.waitForReplies()
		n.allowed(r, "key3", 5, limiter.FromStore) // in the place of one of them
		n.allowed(r, "key4", 5, limiter.FromStore)
		n.checkAccounts(3)
		time.Sleep(10 * time.Second)
		n.Open("zone").Close()
		r = n.reopened(r)
		n.allowed(r, "key5", 5, limiter.FromStore)
		time.Sleep(10*time.Second - rtt)
		n.allowed(r, "key6", 5, limiter.FromCredit)
	})
}

// TestCreditIsNotGivenBack settles also what another zone denied: the lender may have debited it.
func TestCreditIsNotGivenBack(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r, narrow := n.creditRule(0), n.fixed("b", 2, 1)
		takes := []limiter.Take{takeOf(r, "key", 2), takeOf(narrow, "other", 2)}
		n.fails(nil, takes...)
		if takes[0].Decision.Source != limiter.FromCredit && !takes[0].Decision.OK || takes[1].Decision.OK {
			t.Errorf("takes = %+v, want the second denied", takes)
		}
		n.waitForReplies()
		n.checkUsed(r, "key", 2+n.leased(r, "key"))
		if _, owed := n.outstanding(r, "key"); owed != 0 {
			t.Errorf("owed = %d, want 0", owed)
		}
	})
}
