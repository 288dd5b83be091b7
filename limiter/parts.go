package limiter

import "math"

// A lease of a token bucket is a part of it: some events at once. The store debits these. A part of
// a bucket that is ample has many events and lasts for long. A part of another bucket has few, and
// a share of the refill until the part ends. The store refills the bucket by the share less
// meanwhile. The node spends from the events and from what has accrued since the reply arrived.
//
// So in any span, the bucket and its parts together admit at most the capacity and what the rate
// gives in the span. Let S be the level of the bucket plus what all parts hold. S never exceeds the
// capacity, because the store counts the most that parts can hold by now against the capacity. S
// grows by at most the rate. Each admitted event takes one from S. The store hears of it only when
// the part is returned, so it counts the event as held until then: see overflow.go.

const (
	// Shares is how many shares the refill of a bucket has.
	Shares = 4096

	// MinPart is the fewest events that a part can hold when it ends. A smaller part would save no
	// request.
	MinPart = 2

	// minShared is the smallest capacity of a bucket that has parts. Parts of a smaller bucket
	// would leave too little to other nodes.
	minShared = 32

	// In short slots, a part lasts about 1/partsOfFill of the time in which its bucket fills. If the
	// capacity is below smallBucket, it lasts 1/partsOfSmall of that time, because otherwise few
	// takes would come for each part. The other constants bound the time, in µs. hourPart is the
	// longest for windows of an hour or more.
	partsOfFill, partsOfSmall          = 4, 2
	smallBucket                        = 256
	minPartTime, maxPartTime, hourPart = 500_000, 20_000_000, 60_000_000
)

// partTime returns how long a part usually lasts in short slots, in µs. It returns 0 if the bucket
// has no parts.
func (r *Rule) partTime() int64 {
	if r.capacity < minShared {
		return 0
	}
	longest := int64(maxPartTime)
	if r.window >= 3_600_000_000 {
		longest = hourPart
	}
	parts := int64(partsOfFill)
	if r.HasSmallBucket() {
		parts = partsOfSmall
	}
	return max(minPartTime, min(longest, r.TimeFor(r.capacity)/parts))
}

// HasSmallBucket reports whether the bucket of r is so small that a few events make a difference.
func (r *Rule) HasSmallBucket() bool { return r.capacity < smallBucket }

// partSlot returns the length of the short slots of time by which a store accounts for parts, in
// µs. A part ends at the end of the slot after the one in which it was granted.
func (r *Rule) partSlot() int64 { return r.partTime() / 3 * 2 }

const (
	// A bucket is ample while it lacks at most half of its capacity beyond what its parts hold. An
	// ample bucket lends in slots that are longSlots times as long, but at most longestSlot µs.
	longSlots, longestSlot = 9, 120_000_000
)

// longSlot returns the length of the slots of an ample bucket, in µs.
func (r *Rule) longSlot() int64 { return min(longSlots*r.slot, longestSlot) }

// clockDrift is by how much the clock of a node may be faster than that of the store: one in
// clockDrift µs. Both may be wrong by 200 ppm.
const clockDrift = 2500

// ByStoreClock returns the least time that the store measures while a node measures us µs.
func ByStoreClock(us int64) int64 { return us - us/clockDrift - 1 }

// MostByStoreClock returns the most time that the store measures while a node measures us µs.
func MostByStoreClock(us int64) int64 { return us + us/(clockDrift-1) + 1 }

// PartAccrues returns how many events a part with a share of the refill has accrued in us µs by the
// clock of its node.
func (r *Rule) PartAccrues(share, us int64) int64 {
	return mulDiv(max(0, ByStoreClock(us))*share/Shares, r.refill, r.per)
}

// PartTimeFor returns after how many µs by the clock of its node a part with a share of the refill
// has accrued the given number of events, or math.MaxInt64 if that does not fit.
func (r *Rule) PartTimeFor(share, events int64) int64 {
	us := mulDivUp(mulDivUp(max(0, events), r.per, r.refill), Shares, share)
	if us > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return mulDivUp(us+1, clockDrift, clockDrift-1) + 1
}
