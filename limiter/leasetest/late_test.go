package leasetest

import (
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// timeout is how long a lease.Store waits for the reply to a request, in µs: its default.
const timeout = 50 * ms

// overdue reports whether a request of the node for the key is overdue, or was answered too late,
// or not at all, since the instant at of the simulation.
func (h *heldKey) overdue(at, now limiter.Instant) bool {
	return h.missed > at || slices.ContainsFunc(h.calls, func(c *call) bool { return now-c.sent >= timeout })
}

// begun and ended note that a request for the key is under way, and that it is not any more.
func (h *heldKey) begun(c *call) { h.calls = append(h.calls, c) }

func (h *heldKey) ended(c *call, answered bool) {
	h.calls = slices.DeleteFunc(h.calls, func(other *call) bool { return other == c })
	if now := c.now(); !answered || now-c.sent >= timeout {
		h.missed = now
	}
}

// decidedLate notes a decision by the outage mode on a take that arrived at the instant arrived, as
// the store has not answered in time. What it returns is that of decided.
func (c *checker) decidedLate(n *simNode, key int, take *limiter.Take, arrived limiter.Instant) func(int64) {
	k, d := &c.outcomes[key], &take.Decision
	c.tracef(key, "%v takes %d: %v, %d remain", n, take.Cost, asDecision{*d, n}, d.Remaining)
	if !n.key(key).overdue(arrived, c.now()) {
		c.failf(key, "%v: late, but each request was answered in time", n)
	}
	switch {
	case !d.OK:
		k.failed++
	case take.Rule.OnOutage == limiter.OutageClosed:
		c.failf(key, "%v: late and admitted, want it denied by the outage mode", n)
	default:
		n.sumsOf(key).late += take.Cost
		k.late = append(k.late, admission{at: n.timeOf(d.At), n: take.Cost})
		return reduces(&k.late)
	}
	return nil
}

// checkLate checks that nodes admit late, in any window, no more than their local buckets hold and
// get.
func (c *checker) checkLate(key int, k *outcome) {
	slices.SortStableFunc(k.late, func(a, b admission) int { return int(a.at - b.at) })
	r := k.limit.highest
	share := r.InOutage(c.fewest)
	accrued, _ := share.Accrue(int64(window(r)))
	most, sum, first := int64(c.members)*(share.Capacity+accrued+1), int64(0), 0
	for _, e := range k.late {
		sum += e.n
		for ; k.late[first].at <= e.at-window(r); first++ {
			sum -= k.late[first].n
		}
		if sum > most {
			c.failAt(e.at, key, "admitted late in a window = %d, want at most %d", sum, most)
		}
	}
}
