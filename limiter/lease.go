package limiter

const (
	// maxLease is how long a lease lasts at most, in µs.
	maxLease = 10_000_000

	// minSlot is the shortest slot worth leasing for, in µs. In a shorter one, a lease would hardly
	// have arrived.
	minSlot = 20_000

	// A lease of a window lasts at most leasedParts/windowParts of the window, so that unspent
	// events come back before the window ends. If nodes kept their leases to the end, many takes in
	// windows of a second would be denied although other nodes do not need the events that they
	// hold.
	leasedParts, windowParts = 2, 3

	// logSlots is the least number of slots in a window of a sliding window log. The more slots, the
	// shorter they are, and leased events stay in the log for up to two slots too long.
	logSlots = 16
)

// leaseSlot works out what LeaseSlot returns, while the rule is made.
func (r *Rule) leaseSlot() int64 {
	if slotOf := algorithms[r.Algorithm.Kind].leaseSlot; slotOf != nil {
		return slotOf(r)
	}
	return 0
}

// logSlot is leaseSlot for a log.
func (r *Rule) logSlot() int64 {
	if slot := min(r.window/logSlots, maxLease); slot >= minSlot {
		return slot
	}
	return 0
}

// LeaseSlot returns the length of the slots of time by which a store accounts for open leases, in
// µs. It is 0 when the algorithm needs no slots, or when they would be too short for leases. Of a
// bucket, it is the length of the short slots.
func (r *Rule) LeaseSlot() int64 { return r.slot }

// Leases reports whether nodes may lease events under r.
func (r *Rule) Leases() bool {
	inSlots := algorithms[r.Algorithm.Kind].leaseSlot != nil
	return !r.Strict && (r.slot > 0 || !inSlots)
}

// LeaseTime returns how long a lease usually lasts, in µs. If leases expire by slots, a lease lasts
// to the end of the slot after the one in which it was granted. Parts of a bucket last longer in
// long slots.
func (r *Rule) LeaseTime() int64 {
	if r.slot > 0 {
		return r.slot + r.slot/2 - r.LeaseMargin()
	}
	return min(maxLease, r.Period(), r.window/windowParts*leasedParts)
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

// LeaseMargin returns how long before the expiry of a lease by slots its node stops spending it, in
// µs, so that the return of the rest arrives in time.
func (r *Rule) LeaseMargin() int64 { return min(r.slot/4, 100_000) }

// LimitID returns a number that identifies the limit of r among the limits that a count may have.
// It is not 0.
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
