package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestRefund refunds takes that the lender has decided itself. Other takes are not refunded. That
// includes takes that the lender has served: clients were told that less remains than the lender
// has counted.
func TestRefund(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		served := n.fixed("zone", 1, 1000)
		strict := n.rule(limiter.Rule{ID: 2, Strict: true, Limit: limiter.Limit{Events: 5, Window: time.Hour}})
		takes := []limiter.Take{takeOf(served, "key", 3), takeOf(strict, "key", 2)}
		if err := n.Take(t.Context(), n.options.Clock(), takes); err != nil || !takes[0].Decision.OK || !takes[1].Decision.OK {
			t.Fatalf("takes = %+v, %+v, %v, want both allowed", takes[0].Decision, takes[1].Decision, err)
		}
		if err := n.Refund(t.Context(), n.options.Clock(), takes); err != nil {
			t.Fatal(err)
		}
		if got := n.lender.used(served, "key"); got < 3 {
			t.Errorf("the lender counts %d events that were served, want 3 at least", got)
		}
		if got := n.lender.used(strict, "key"); got != 0 {
			t.Errorf("the lender counts %d events under the strict rule, want none", got)
		}
		if err := n.Refund(t.Context(), n.options.Clock(), takes[:1]); err != nil {
			t.Errorf("refund of what was served alone: %v", err)
		}
	})
}

// TestPeek has accounts decide that know enough, and the lender the other takes.
func TestPeek(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.fixed("zone", 1, 10)
		strict := n.rule(limiter.Rule{ID: 2, Strict: true, Limit: limiter.Limit{Events: 5, Window: time.Hour}})
		closed := n.fixed("closed", 3, 4)
		closed.Zone.(*Accounts).Close()
		n.allowed(r, "key", 3, limiter.FromStore)
		n.denied(r, "denied", 11, limiter.FromStore)
		n.waitForReplies()
		requests := n.Stats().Requests
		peek := func(takes ...limiter.Take) {
			t.Helper()
			if err := n.Peek(t.Context(), n.options.Clock(), takes); err != nil {
				t.Fatal(err)
			}
		}
		takes := []limiter.Take{takeOf(r, "key", 1), takeOf(r, "denied", 11)}
		peek(takes...)
		if got := n.Stats().Requests; got != requests {
			t.Errorf("requests for keys that are known = %d, want none", got-requests)
		}
		if d := takes[0].Decision; !d.OK || d.Remaining != 7 {
			t.Errorf("peek = %+v, want OK with 7 remaining", d)
		}
		if d := takes[1].Decision; d.OK || d.RetryAt != limiter.Never {
			t.Errorf("peek of a denial = %+v, want it denied forever", d)
		}
		takes = []limiter.Take{takeOf(r, "key", 1), takeOf(r, "new", 1), takeOf(strict, "key", 1), takeOf(closed, "key", 1)}
		peek(takes...)
		if got := n.Stats().Requests; got != requests+1 {
			t.Errorf("requests for keys that are not known = %d, want 1", got-requests)
		}
		for i, want := range []int64{7, 10, 5, 4} {
			if d := takes[i].Decision; !d.OK || d.Remaining != want {
				t.Errorf("peek %d = %+v, want OK with %d remaining", i, d, want)
			}
		}
		n.checkAccounts(2)
	})
}

// TestPreview has leases with enough events decide, and asks the lender about other takes.
func TestPreview(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		large, small := n.fixed("zone", 1, 1000), n.fixed("small", 2, 2)
		n.warm(large, "key")
		n.allowed(small, "key", 2, limiter.FromStore) // nothing is left, and nothing was denied
		n.waitForReplies()
		for _, test := range []struct {
			rule *limiter.Rule
			ok   bool
			from limiter.Source
		}{{large, true, limiter.FromLease}, {small, false, limiter.FromStore}} {
			takes := []limiter.Take{takeOf(test.rule, "key", 1)}
			if err := n.Preview(t.Context(), n.options.Clock(), takes); err != nil {
				t.Fatal(err)
			}
			if d := takes[0].Decision; d.OK != test.ok || d.Source != test.from {
				t.Errorf("preview of zone %s = %+v, want OK = %t from %v", test.rule.Zone.Name(), d, test.ok, test.from)
			}
		}
		n.denied(small, "key", 1, limiter.FromStore)
	})
}

// TestPeekFails returns the error of the lender.
func TestPeekFails(t *testing.T) {
	s := New(deadLender{}, Options{})
	defer s.Close()
	r := node{t, s, nil}.fixed("zone", 1, 10)
	if err := s.Peek(t.Context(), s.Now(), []limiter.Take{takeOf(r, "key", 1)}); err != errCut {
		t.Errorf("peek = %v, want %v", err, errCut)
	}
	closed := node{t, s, nil}.fixed("closed", 2, 10)
	closed.Zone.(*Accounts).Close()
	if err := s.Refund(t.Context(), s.Now(), []limiter.Take{takeOf(closed, "key", 1)}); err != errCut {
		t.Errorf("refund = %v, want %v", err, errCut)
	}
}
