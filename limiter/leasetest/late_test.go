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
		at := n.timeOf(d.At)
		k.late = append(k.late, admission{at: at, n: take.Cost})
		reduce := reduces(&k.late)
		return func(events int64) {
			reduce(events)
			k.lateVain.add(limiter.Events{At: at, N: events}, c.now())
		}
	}
	return nil
}

// checkLate checks that nodes admit late, in any window, no more than their local buckets hold and
// get. As of any bucket, those come on top that were still to be refunded when the window began.
func (c *checker) checkLate(key int, k *outcome) {
	slices.SortStableFunc(k.late, func(a, b admission) int { return int(a.at - b.at) })
	r := k.limit.highest
	share := r.InOutage(c.fewest)
	accrued, _ := share.Accrue(int64(window(r)))
	most, sum, first := int64(c.members)*(share.Capacity+accrued+1), int64(0), 0
	refilled := 0 // by e.at
	slices.SortFunc(k.lateVain, func(a, b canceled) int { return int(a.from - b.from) })
	for _, e := range k.late {
		sum += e.n
		for ; k.late[first].at <= e.at-window(r); first++ {
			sum -= k.late[first].n
		}
		for refilled < len(k.refilled) && k.refilled[refilled] <= e.at {
			refilled++
		}
		allowed := most + int64(k.lateVain.pending(e.at-window(r)))
		for i := refilled - 1; i >= 0 && k.refilled[i] > e.at-window(r); i-- {
			allowed += share.Capacity
		}
		if sum > allowed {
			c.failAt(e.at, key, "admitted late in a window = %d, want at most %d", sum, allowed)
		}
	}
}
