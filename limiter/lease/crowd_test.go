package lease

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/share"
)

// A client is a client with this address.
type client netip.Addr

func (c client) Network() netip.Addr { return netip.Addr(c) }

// TestCrowd takes many keys that find no room for an account, while the lender is too busy to
// reply. A client that exhausts its share locks out hardly any key of another client.
func TestCrowd(t *testing.T) {
	const limit, flood, others = 2, 500, 100
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := n.rule(limiter.Rule{
			Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, MaxKeys: 1,
			Limit: limiter.Limit{Events: limit, Window: time.Minute},
		})
		n.denied(r, "at its limit, so it stays", limit+1, limiter.FromStore)
		n.lender.always(refused)
		take := func(from byte, key string) bool {
			takes := []limiter.Take{takeOf(r, key, 1)}
			takes[0].Client = client(netip.AddrFrom4([4]byte{192, 0, 2, from}))
			n.fails(limiter.ErrLate, takes...)
			if d := takes[0].Decision; d.Source != limiter.FromLate || d.OK != (d.RetryAt <= d.At) {
				t.Errorf("take of %s = %+v, want it late, and another try after a denial", key, d)
			}
			return takes[0].Decision.OK
		}
		admitted := 0
		for i := range flood {
			if take(0, fmt.Sprint("flood", i)) {
				admitted++
			}
		}
		if want := share.PerClient * limit; admitted != want {
			t.Errorf("%d of %d takes of one client were admitted, want %d", admitted, flood, want)
		}
		admitted = 0
		for i := range byte(others) {
			if take(1+i, fmt.Sprint("other", i)) {
				admitted++
			}
		}
		if admitted < others*9/10 {
			t.Errorf("%d of %d other clients were admitted, want 90 %%", admitted, others)
		}
		admitted = 0
		for i := range byte(others) {
			if take(1+i, "one key of many clients") {
				admitted++
			}
		}
		if admitted > limit {
			t.Errorf("%d takes of a key were admitted, want at most %d", admitted, limit)
		}
		time.Sleep(3 * time.Minute)
		c := &r.Zone.(*Accounts).crowd
		c.mu.Lock()
		if n, shares := len(c.accounts), c.shares.Len(); n+shares != 0 {
			t.Errorf("accounts of the crowd after a sweep = %d, shares = %d, want none", n, shares)
		}
		c.mu.Unlock()
		n.lender.always(lostReply)
		n.fails(errCut, takeOf(r, "cut", 1))
	})
}
