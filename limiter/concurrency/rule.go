package concurrency

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Rule is a limit of requests in flight, and how it is enforced.
type Rule struct {
	ID       uint32 // identifies the counts
	Limit    int64  // the most requests of a key in flight, at least 1
	Strict   bool   // lease no more permits than requests need
	OnOutage limiter.OutageMode
}

// inOutage returns how many requests a node may have in flight while the lender does not answer, if
// the given number of nodes share the limit.
func (r *Rule) inOutage(nodes int) int64 {
	switch r.OnOutage {
	case limiter.OutageOpen:
		return math.MaxInt64
	case limiter.OutageClosed:
		return 0
	}
	return max(1, r.Limit/int64(max(1, nodes)))
}
