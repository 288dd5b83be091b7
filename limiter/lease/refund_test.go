package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestRefund gives back what the lender has decided by itself, and nothing of what accounts have answered: also when the
// lender served it, as clients were told that less remains than it has counted.
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
