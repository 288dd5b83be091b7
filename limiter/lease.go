package limiter

const (
	// maxLease is how long a lease lasts at most, in µs.
	maxLease = 5_000_000

	// minSlot is the shortest slot worth leasing for, in µs. In a shorter one, a lease would hardly
	// have arrived.
	minSlot = 20_000

	// leaseParts is how often a window gets back what nodes have leased in it and not spent: leases
	// last at most one in leaseParts parts of it. In windows of a second, with nodes that keep
	// their leases to the end, many takes would be denied for events that others do not need.
	leaseParts = 8

	// logSlots is the least number of slots in a window of a sliding window log. Leased events stay
	// in the log for up to two slots too long. With 30 slots, that costs at most 7 % of the limit.
	logSlots = 30
)

// leaseSlot is LeaseSlot for a rule that is being made. For a token bucket, the slot is what
// MaxOvershoot pays for: a bucket goes on refilling while its leases are out, by as much as accrues
// in one slot.
func (r *Rule) leaseSlot() int64 {
	var slot int64
	switch r.Algorithm.Kind {
	case TokenBucket:
		slot = min(int64(r.MaxOvershoot*float64(r.window)), mulDiv(r.capacity, r.per, r.refill)/4, maxLease)
	case SlidingWindowLog:
		slot = min(r.window/logSlots, maxLease)
	}
	if slot < minSlot {
		return 0
	}
	return slot
}

// LeaseSlot returns the length of the slots of time by which a store accounts for open leases, in
// µs. It is 0 when the algorithm needs no slots, or when they would be too short for leases.
func (r *Rule) LeaseSlot() int64 { return r.slot }

// Leases reports whether nodes may lease events under r.
func (r *Rule) Leases() bool {
	switch {
	case r.Strict:
		return false
	case r.Algorithm.Kind == TokenBucket, r.Algorithm.Kind == SlidingWindowLog:
		return r.slot > 0
	}
	return true
}

// LeaseTime returns how long a lease usually lasts, in µs. A lease of a slot lasts to the end of
// the next slot.
func (r *Rule) LeaseTime() int64 {
	if r.slot > 0 {
		return r.slot + r.slot/2 - r.LeaseMargin()
	}
	return min(maxLease, r.Period(), r.window/leaseParts)
}

// Period returns the length of the windows, or sub-windows, with which leases expire, in µs.
func (r *Rule) Period() int64 {
	if r.Algorithm.Kind == SlidingWindow {
		return r.sub
	}
	return r.window
}

// UntilNext returns how long it is from at to the next window or sub-window, in µs.
func (r *Rule) UntilNext(at Instant) int64 { return r.Period() - at.into(r.Period()) }

// LeaseMargin returns how long before the end of its slots a node stops spending a lease, in µs, so
// that its return arrives in time.
func (r *Rule) LeaseMargin() int64 { return min(r.slot/4, 100_000) }

// LimitID returns a number that tells the limit of r from other limits of the same count. It is not
// 0.
func (r *Rule) LimitID() uint32 { return r.limitID }

// Accrue returns how many events the rate gives in us µs, and how many µs that many events take.
func (r *Rule) Accrue(us int64) (events, took int64) {
	events, _ = mulAddDiv(us, r.refill, 0, r.per)
	if events > 0 {
		took = mulDiv(events, r.per, r.refill)
	}
	return events, took
}

// TimeFor returns how many µs the rate takes to give that number of events, or math.MaxInt64 if
// that does not fit.
func (r *Rule) TimeFor(events int64) int64 { return mulDivUp(events, r.per, r.refill) }

// MaxCredit is the most events of credit that a node may owe for a key.
const MaxCredit = 1<<12 - 1

// Credit returns how many events each of the nodes may admit for a key before the store has
// replied, once per window. All nodes together may admit half of what MaxOvershoot allows beyond
// the refill of a bucket whose leases are out, and at most half of the capacity, as a store debits
// no more than twice that.
func (r *Rule) Credit(nodes int) int64 {
	if r.Strict {
		return 0
	}
	budget := r.MaxOvershoot
	if r.Algorithm.Kind == TokenBucket {
		budget = max(0, budget-float64(r.slot)/float64(r.window))
	}
	budget = min(budget*float64(r.Limit.Events), float64(r.capacity))
	return min(int64(budget/float64(2*max(1, nodes))), MaxCredit)
}
