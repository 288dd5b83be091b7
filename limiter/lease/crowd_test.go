package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestCrowd takes many keys that find no room for an account, while the lender is too busy to
// reply. All of them together are admitted the limit.
func TestCrowd(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{
			Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, MaxKeys: 1,
			Limit: limiter.Limit{Events: 20, Window: 24 * time.Hour},
		})
		n.denied(r, "at its limit, so it stays", 21, limiter.FromStore)
		n.lender.busy()
		n.lender.always(refused)
		for i := range 30 {
			if d := n.take(r, fmt.Sprint("key", i), 1); d.OK != (i < 20) || d.Source != limiter.FromKnownState {
				t.Errorf("take %d = %+v, want OK %v by the newest known state", i+1, d, i < 20)
			}
		}
		n.lender.always(lostReply)
		n.fails(errCut, takeOf(r, "cut", 1))
	})
}
