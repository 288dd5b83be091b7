package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestCrowd takes many keys that find no room for an account, while the lender is too busy to
// reply. All of them together have one local bucket.
func TestCrowd(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{
			Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, MaxKeys: 1,
			Limit: limiter.Limit{Events: 20, Window: 24 * time.Hour},
		})
		n.denied(r, "at its limit, so it stays", 21, limiter.FromStore)
		n.lender.always(refused)
		for i := range 30 {
			takes := []limiter.Take{takeOf(r, fmt.Sprint("key", i), 1)}
			n.fails(limiter.ErrLate, takes...)
			if d := takes[0].Decision; d.OK != (i < 20) || d.Source != limiter.FromLate {
				t.Errorf("take %d = %+v, want OK %v, late", i+1, d, i < 20)
			}
		}
		n.lender.always(lostReply)
		n.fails(errCut, takeOf(r, "cut", 1))
	})
}
