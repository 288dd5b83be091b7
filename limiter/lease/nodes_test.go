package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestFleetSize returns the largest size of the fleet within the last window.
func TestFleetSize(t *testing.T) {
	minute := mustRule(t, fixed, limiter.Limit{Events: 100, Window: time.Minute})
	type count struct {
		at    instant // s
		nodes int
	}
	for _, test := range []struct {
		name   string
		counts []count
		at     instant // s
		want   int
	}{
		{"nothing was counted", nil, 1000, 0},
		{"too young", []count{{1000, 10}}, 1059, 0},
		{"old enough", []count{{1000, 10}}, 1060, 10},
		{"too young, though the fleet has grown since", []count{{1000, 10}, {1030, 20}}, 1059, 0},
		{"grown", []count{{1000, 10}, {1030, 20}}, 1060, 20},
		{"shrunk within the window", []count{{1000, 10}, {1100, 5}, {1110, 2}}, 1159, 10},
		{"shrunk, and shrunk more within the window", []count{{1000, 10}, {1100, 5}, {1110, 2}}, 1160, 5},
		{"shrunk before the window", []count{{1000, 10}, {1100, 5}, {1110, 2}}, 1170, 2},
		{"shrunk and grown again", []count{{1000, 10}, {1100, 5}, {1110, 2}, {1120, 7}}, 1159, 10},
		{"shrunk before the window and grown again", []count{{1000, 10}, {1100, 5}, {1110, 2}, {1120, 7}}, 1160, 7},
		{"as large as before", []count{{1000, 10}, {1100, 5}, {1110, 10}}, 1300, 10},
	} {
		var f fleetSize
		if got := f.now(); got != 0 {
			t.Errorf("nodes before any were counted = %d, want 0", got)
		}
		for _, c := range test.counts {
			f = f.with(c.at*sec, c.nodes)
			if got := f.now(); got != c.nodes {
				t.Errorf("%s: nodes at %d s = %d, want %d", test.name, c.at, got, c.nodes)
			}
		}
		if got := f.sharers(minute, test.at*sec); got != test.want {
			t.Errorf("%s: sharers at %d s = %d, want %d", test.name, test.at, got, test.want)
		}
	}
}

// TestNoCredit gives no credit while other nodes do not count this one, under strict rules, after a
// denial, or twice in a window.
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

// TestNoCreditAfterRestart gives no credit before the store has run for a whole window of the rule.
func TestNoCreditAfterRestart(t *testing.T) {
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

// TestNoCreditAfterRemoval gives no credit within a window after an account was evicted or its zone
// closed, as its key may have had credit.
func TestNoCreditAfterRemoval(t *testing.T) {
	inBubble(t, Options{Nodes: twoNodes, Settled: alwaysSettled}, func(t *testing.T, n node) {
		r := n.creditRule(3)
		for i := range 3 {
			n.allowed(r, fmt.Sprint("key", i), 5, limiter.FromCredit)
		}
		n.waitForReplies()
		n.allowed(r, "key3", 5, limiter.FromStore) // in place of one of them
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
