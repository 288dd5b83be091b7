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
	late                int64 // admitted by the outage mode, as the store has not answered in time
	failed              int   // requests that had no answer in time
}

// A heldKey is what the checker knows of one key on a node.
type heldKey struct {
	leases  []heldLease
	denials []denial // by the store, oldest first
	denied  bool     // by its last answer to a need

	toldAt             limiter.Instant // when the node was last told that an operator has changed the count
	resetAt, resetTold limiter.Instant // when the key was last reset, as far as it was told, and when it was

	calls  []*call         // under way
	missed limiter.Instant // when the newest call ended that was not answered in time
}

// A denial is one that has reached a node, at the instant at of the simulation.
type denial struct {
	rule *limiter.Rule
	at   limiter.Instant
	cost int64
	limiter.Decision
}

// denialMemory is for how long nodes may repeat a denial, in µs, partDenialMemory that for nodes which
// have a part of the bucket.
const denialMemory, partDenialMemory = sec, 2 * sec

// lasts returns for how long nodes may repeat the denial, in µs.
func (d *denial) lasts() limiter.Instant {
	if d.rule.Algorithm.Kind == limiter.TokenBucket && d.rule.Leases() {
		return partDenialMemory
	}
	return denialMemory
}

// repeats reports whether the store has denied such a take lately, under the same limit or, if the
// take has waited, a later one. While takes come under both limits, a take that has waited is decided
// under that of the take which came last: then the reply that it has waited for may be under an earlier
// one. No take that comes after that reply is denied by it.
func (n *simNode) repeats(key int, take *limiter.Take, arrived, at limiter.Instant) bool {
	h := n.key(key)
	return slices.ContainsFunc(h.denials, func(d denial) bool {
		sameLimit := n.limits[d.rule] >= n.limits[take.Rule] || arrived < d.at && d.at == at
		return sameLimit && !h.forgot(d.at, at) && d.cost <= take.Cost && d.at <= at && n.clockAt(at) <= n.clockAt(d.at)+d.lasts()
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
	k, h, sums := &c.outcomes[key], n.key(key), n.sumsOf(key)
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
	isBucket := l.Rule.Algorithm.Kind == limiter.TokenBucket
	for _, e := range l.Returns {
		sums.returned += e.N
		if e.N > 0 && e.At != 0 && !isBucket && !h.giveUp(e.Events) {
			c.failf(key, "%v: returns %d of %v, which it has not", n, e.N, sinceEpoch(e.At))
		}
	}
	sums.cancelled += l.Cancel.N // of a bucket, what was spent of a part that was returned since, too
	if sums.cancelled > sums.served-sums.admitted && !isBucket {
		c.failf(key, "%v: cancels %d, more than it was served in vain", n, l.Cancel.N)
	}
}

// answered notes an answer that reaches a node.
func (c *checker) answered(n *simNode, l *limiter.LeaseRequest) {
	key, now := keyOf(l), c.now()
	h, sums := n.key(key), n.sumsOf(key)
	sums.granted += l.Granted
	sums.served += l.Served
	if l.Granted > 0 {
		const kept = 2 * maxLease // for returns that are late
		h.leases = slices.DeleteFunc(h.leases, func(l heldLease) bool { return l.expires < now-kept })
		h.leases = append(h.leases, heldLease{l.Decision.At, l.Expires, l.Granted})
	}
	d := l.Denial()
	if d != nil {
		h.denials = slices.DeleteFunc(h.denials, func(d denial) bool { return d.at < now-partDenialMemory })
		h.denials = append(h.denials, denial{l.Rule, now, max(1, l.Need), *d})
	}
	if l.Need > 0 {
		h.denied = d != nil
	}
}

// decided notes what a node has decided on a take that arrived at the instant arrived, in vain if
// another limit denies its request. It returns what notes that some of the events are about to be
// refunded, if they can be.
func (c *checker) decided(n *simNode, key int, take *limiter.Take, inVain bool, arrived limiter.Instant) (refund func(int64)) {
	k, sums := &c.outcomes[key], n.sumsOf(key)
	d, cost := &take.Decision, take.Cost
	if arrived == c.now() {
		k.local++
	}
	switch {
	case d.Source == limiter.FromOutage:
		c.decidedInOutage(n, key, take)
		return nil
	case !d.OK && take.Err == nil:
		c.tracef(key, "%v takes %d: %v, %d remain", n, cost, asDecision{*d, n}, d.Remaining)
		c.deny(n, key, take, arrived)
		return nil
	case inVain && !denies(*take): // it is not late and denied itself
		c.tracef(key, "%v takes %d in vain: another limit denies it", n, cost)
		return nil
	case d.Source == limiter.FromLate:
		return c.decidedLate(n, key, take, arrived)
	case take.Err != nil:
		c.tracef(key, "%v takes %d: %v", n, cost, take.Err)
		k.failed++
		return nil
	}
	c.tracef(key, "%v takes %d: %v, %d remain", n, cost, asDecision{*d, n}, d.Remaining)
	if d.Remaining < 0 || d.Remaining > d.Limit || d.ResetAt < d.At || c.changes == 0 && d.Limit != take.Rule.Capacity() {
		c.failf(key, "%v: decision %+v", n, *d)
	}
	h, at := n.key(key), n.timeOf(d.At)
	switch d.Source {
	case limiter.FromStore:
		if at = d.At; d.Turn != 0 {
			at = d.Turn
			c.queued++
		}
		sums.admitted += cost
	case limiter.FromLease:
		sums.spent += cost
		if take.Rule.Algorithm.Kind != limiter.TokenBucket && !h.spend(cost, at) { // parts accrue: the bound checks them
			c.failf(key, "%v: spends %d at %v, which no lease has left", n, cost, sinceEpoch(at))
		}
	}
	debited := debitedAt(take)
	if isBucket := take.Rule.Algorithm.Kind == limiter.TokenBucket; !isBucket && h.mustNotSpend(debited, at) {
		c.failf(key, "%v: spends what was leased at %v, before the reset that it was told of", n, sinceEpoch(debited))
	}
	c.admit(key, admission{at, cost, debited})
	return c.refunds(n, key, take)
}

// deny notes a denied take that arrived at the instant arrived.
func (c *checker) deny(n *simNode, key int, take *limiter.Take, arrived limiter.Instant) {
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
	if !n.repeats(key, take, arrived, n.timeOf(d.At)) {
		c.failf(key, "%v: repeats a denial of %d under %d events that the store has not given lately",
			n, take.Cost, take.Rule.Limit.Events)
	}
}

// closeNode checks what became of the events of a node, and that its debts are settled if it is
// alive.
func (c *checker) closeNode(n *simNode, alive bool) {
	stats, left, late, all := n.store.Stats(), int64(0), int64(0), true
	for i, limit := range c.limits() {
		if limit.rule.Algorithm.Kind == limiter.TokenBucket { // what parts accrue is in no sum
			all = false
			continue
		}
		s := &n.sums[i]
		left += s.granted + s.served - s.returned - s.cancelled - s.spent - s.admitted
		late += s.late
	}
	left -= int64(stats.DebtSettled)
	knows := !n.gone && (alive || n.sums[0].failed == 0) // a node that ends does not wait for long
	// Debt whose window passes while its request is under way is dropped, but the store may debit it.
	lost := int64(stats.Expired+stats.Lost+stats.DebtDropped) + late
	if !c.regrets { // else what is owed may have been undone
		lost -= min(late, int64(stats.Debt)) // which was not served late
	}
	if all && (left < 0 || left > lost && knows) {
		c.failf(0, "%v: %+v leave %d events, want 0 to %d, those that it has lost or served late", n, n.sums, left, lost)
	}
}
