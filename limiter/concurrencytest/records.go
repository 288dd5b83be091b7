// Package concurrencytest checks the leases of permits. It has the specification of what a lender
// records of a key, and plays a fleet on a virtual clock. Only tests use it.
package concurrencytest

import (
	"maps"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// Records are what a lender has recorded of a key, by node: permits.lua as a calculator. Begin with
// Records{}.
type Records map[string]Record

// A Record is what a node holds.
type Record struct {
	Permits, Sequence int64
	Until             limiter.Instant
}

// Exchange answers a request at now. overtaken reports that a newer request of the node has been
// answered before.
func (r Records) Exchange(now limiter.Instant, q *concurrency.LeaseRequest) (g concurrency.Grant, overtaken bool) {
	if held, found := r[q.Node]; found && held.Sequence >= q.Sequence {
		return g, true
	}
	maps.DeleteFunc(r, func(node string, held Record) bool { return node != q.Node && held.Until <= now })
	free := q.Limit - q.Hold
	for node, held := range r {
		if node != q.Node {
			free -= held.Permits
		}
	}
	above := max(-free, 0)
	needed := min(max(free, 0), q.Need)
	free -= needed
	wanted := min(max((free-q.Reserve)/q.Share, 0), q.Want)
	permits := q.Hold + needed + wanted
	g = concurrency.Grant{Permits: max(permits-above, 0), Free: max(free-wanted, 0)}
	if delete(r, q.Node); permits > 0 {
		r[q.Node] = Record{permits, q.Sequence, now + limiter.Instant(q.Lifetime.Microseconds())}
	}
	return g, false
}
