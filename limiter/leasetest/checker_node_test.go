package leasetest

import (
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// nodeSums are events of all keys of a node.
type nodeSums struct {
	granted, served     int64 // by answers that have reached it
	returned, cancelled int64 // by requests that it has sent
	spent               int64 // of leases
	admitted            int64 // by the store
	credited, settled   int64
	failed              int // requests that had no answer in time
}

// A heldKey is what the checker knows of one key on a node.
type heldKey struct {
	leases  []heldLease
	denials []denial // by the store, oldest first
	denied  bool     // by its last answer to a need
}

// A denial is one that has reached a node, at the instant at of the simulation.
type denial struct {
	rule *limiter.Rule
	at   limiter.Instant
	cost int64
	limiter.Decision
}

// denialMemory is for how long nodes may repeat a denial, in µs.
const denialMemory = sec

// repeats reports whether the store has denied such a take lately, under the same limit or, if the
// take has waited, a later one.
func (n *simNode) repeats(key int, take *limiter.Take, at limiter.Instant) bool {
	return slices.ContainsFunc(n.key(key).denials, func(d denial) bool {
		return n.limits[d.rule] >= n.limits[take.Rule] && d.cost <= take.Cost && d.at <= at && at <= d.at+denialMemory
	})
}

// A heldLease is what a node must have left of a lease.
type heldLease struct {
	at, expires limiter.Instant // by the store's clock
	left        int64
}

func (n *simNode) key(key int) *heldKey {
	h := n.keys[key]
	if h == nil {
		h = new(heldKey)
		n.keys[key] = h
	}
	return h
}

// expiry returns when the lease expires that was granted at the instant at; 1 if it is not known.
func (h *heldKey) expiry(at limiter.Instant) limiter.Instant {
	for _, l := range h.leases {
		if l.at == at {
			return l.expires
		}
	}
	return 1
}

// spend has events spent of the leases that expire first and have not expired at the instant at. It
// reports whether there were enough.
func (h *heldKey) spend(events int64, at limiter.Instant) bool {
	for i := range h.leases {
		if l := &h.leases[i]; l.expires > at {
			n := min(events, l.left)
			l.left -= n
			events -= n
		}
	}
	return events == 0
}

// giveUp has events of a lease returned. Those that spend has taken from it were spent of others.
func (h *heldKey) giveUp(e limiter.Events) bool {
	missing := e.N
	for i := range h.leases {
		if l := &h.leases[i]; l.at == e.At {
			n := min(missing, l.left)
			l.left -= n
			missing -= n
		}
	}
	for i := range h.leases {
		l := &h.leases[i]
		n := min(missing, l.left)
		l.left -= n
		missing -= n
	}
	return missing == 0
}

// sent notes a request that a node sends.
func (c *checker) sent(n *simNode, l *limiter.LeaseRequest) {
	key := keyOf(l)
	k, h := &c.outcomes[key], n.key(key)
	k.requests++
	switch {
	case l.Need > 0:
		k.needs++
	case l.Want > 0:
		k.refills++
	}
	if last := len(h.denials) - 1; h.denied && l.ChangesCount() && h.denials[last].at == c.now() {
		h.denied = false // it had returns to send, so the denial is not remembered
	}
	for _, e := range l.Returns {
		n.sums.returned += e.N
		if e.N > 0 && e.At != 0 && !h.giveUp(e) {
			c.failf(key, "%v: returns %d of %v, which it has not", n, e.N, sinceEpoch(e.At))
		}
	}
	if n.sums.cancelled += l.Cancel.N; n.sums.cancelled > n.sums.served-n.sums.admitted {
		c.failf(key, "%v: cancels %d, more than it was served in vain", n, l.Cancel.N)
	}
}

// answered notes an answer that reaches a node.
func (c *checker) answered(n *simNode, l *limiter.LeaseRequest) {
	h, now := n.key(keyOf(l)), c.now()
	n.sums.granted += l.Granted
	n.sums.served += l.Served
	if l.Granted > 0 {
		const kept = 2 * maxLease // for returns that are late
		h.leases = slices.DeleteFunc(h.leases, func(l heldLease) bool { return l.expires < now-kept })
		h.leases = append(h.leases, heldLease{l.Decision.At, l.Expires, l.Granted})
	}
	if l.Need > 0 {
		if h.denied = !l.Decision.OK; h.denied {
			h.denials = slices.DeleteFunc(h.denials, func(d denial) bool { return d.at < now-denialMemory })
			h.denials = append(h.denials, denial{l.Rule, now, l.Need, l.Decision})
		}
	}
}

// decided notes what a node has decided.
func (c *checker) decided(n *simNode, key int, takes []limiter.Take, waited bool) {
	take, k := &takes[0], &c.outcomes[key]
	d, cost := &take.Decision, take.Cost
	if !waited {
		k.local++
	}
	switch {
	case d.Source == limiter.FromOutage:
		c.decidedInOutage(n, key, take)
		return
	case take.Err != nil:
		c.tracef(key, "%v takes %d: %v", n, cost, take.Err)
		k.failed++
		return
	case !d.OK:
		c.tracef(key, "%v takes %d: %v, %d remain", n, cost, asDecision{*d, n.offset}, d.Remaining)
		c.deny(n, key, take)
		return
	case len(takes) > 1 && takes[1].Err == nil: // else the other limit does not count
		c.tracef(key, "%v takes %d in vain: another limit denies it", n, cost)
		return
	}
	c.tracef(key, "%v takes %d: %v, %d remain", n, cost, asDecision{*d, n.offset}, d.Remaining)
	if d.Remaining < 0 || d.Remaining > d.Limit || d.ResetAt < d.At || !c.changes && d.Limit != take.Rule.Capacity() {
		c.failf(key, "%v: decision %+v", n, *d)
	}
	h, at := n.key(key), d.At-n.offset
	switch d.Source {
	case limiter.FromStore:
		at = d.At
		n.sums.admitted += cost
	case limiter.FromLease:
		n.sums.spent += cost
		if !h.spend(cost, at) {
			c.failf(key, "%v: spends %d at %v, which no lease has left", n, cost, sinceEpoch(at))
		}
	case limiter.FromCredit:
		n.sums.credited += cost
		if last := len(h.denials) - 1; h.denied && h.denials[last].rule == take.Rule && h.denials[last].at < at {
			c.failf(key, "%v: credit of %d after a denial", n, cost)
		}
		if at-n.born < max(2*heartbeat, window(take.Rule)) {
			c.failf(key, "%v: credit of %d when it has run for %d µs", n, cost, at-n.born)
		}
	}
	c.admit(key, at, cost)
}

// deny notes a denied take.
func (c *checker) deny(n *simNode, key int, take *limiter.Take) {
	k, d := &c.outcomes[key], &take.Decision
	k.denied++
	if k.exactDenied == 0 && d.RetryAt != limiter.Never {
		k.longestFalseWait = max(k.longestFalseWait, int64(d.RetryAt-d.At))
	}
	if d.RetryAt <= d.At {
		c.failf(key, "%v: denied, retry at %d, which is not after %d", n, d.RetryAt, d.At)
	}
	if d.Source != limiter.FromRememberedDenial {
		return
	}
	if !n.repeats(key, take, d.At-n.offset) {
		c.failf(key, "%v: repeats a denial of %d under %d events that the store has not given lately",
			n, take.Cost, take.Rule.Limit.Events)
	}
}

// closeNode checks what became of the events of a node, and that its debts are settled if it is
// alive.
func (c *checker) closeNode(n *simNode, alive bool) {
	s, stats := &n.sums, n.store.Stats()
	left := s.granted + s.served - s.returned - s.cancelled - s.spent - s.admitted - int64(stats.OwedSettled)
	knows := !n.gone && (alive || s.failed == 0) // a node that ends does not wait for long
	if lost := int64(stats.Expired + stats.Lost); left < 0 || left > lost && knows {
		c.failf(0, "%v: %+v leave %d events, want 0 to %d, those that it has lost", n, *s, left, lost)
	}
	switch credited := int64(stats.Credited); {
	case s.credited > credited || s.settled > credited && !c.overturned:
		c.failf(0, "%v: credit of %d, of which %d were seen and %d settled", n, credited, s.credited, s.settled)
	case !c.overturned && alive && s.settled < credited:
		c.failf(0, "%v: credit of %d, of which only %d settled", n, credited, s.settled)
	}
}
