package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// bucketParts lease parts of a bucket. The newer lease is a part, which may also accrue events: see
// limiter.Rule.PartAccrues. The older lease has the events that the account kept when it returned a
// part.
type bucketParts struct{}

var _ leaseKind = bucketParts{}

const (
	// Of an ample bucket, a node wants the events that takes will probably spend in ampleFor µs,
	// and no share: such a part lasts for long, and the store recalls it if takes elsewhere need
	// its events.
	ampleFor = 60_000_000

	// The share of a part is partFactor times the demand, so that takes rarely spend the whole part
	// before it ends. If the bucket is pressed, the factor is 1.
	partFactor = 1.5

	// A part has at once the events of partEvents takes, or of fewEvents takes if the bucket is
	// small: a small bucket lacks more what nodes hold when a burst ends. A bucket that is not
	// pressed lends its capacity divided by partFraction, if that is more.
	partEvents, fewEvents = 8, 4
	partFraction          = 500

	// A part is low when fewer events are left than its events at once divided by lowPart.
	lowPart = 6

	// A part is renewed or returned after partDue eighths of its time.
	partDue = 7

	// If the bucket is not pressed, a part is renewed only if takes probably spend at least
	// renewable events in the time of a part.
	renewable = 5

	// A scarce bucket lends nothing to a fleet of at most fewNodes nodes until it has been scarce
	// for longBurst µs, because takes miss each event that nodes hold at the end of a burst.
	// Without leases, a larger fleet would need more calls than those events are worth.
	longBurst = 500_000
	fewNodes  = 8

	// A part for which no take comes is returned after the longest of idlePart µs, one eighth of
	// its time, and idleGaps times the mean time between two events: see idleAfter.
	idlePart = 250_000
	idleGaps = 8

	// recentHorizon is the time in µs in which the weight of an event in the recent demand falls to
	// 1/e. The smaller of the two demands counts: the recent one after a quiet time, the other one
	// in a burst.
	recentHorizon = 2_000_000

	// otherLimit is the bit of share that marks a part granted under another limit. What such a
	// part has accrued is not known under the limit of its return: see returnPart.
	otherLimit = 1 << 15

	// If takes spend fewer than sparse events within a round trip, none of a part's events is kept
	// for the time of a request. Then a part of an ample bucket is low once it is spent, and
	// another part is never low.
	sparse = 0.05
)

// demandRate returns how many events takes will probably spend per µs.
func (h *hot) demandRate(r *limiter.Rule) float64 {
	return min(float64(h.recent)/recentHorizon, float64(h.demand)/float64(demandHorizon*r.LeaseTime()))
}

// pressed reports whether more than a fifth of the bucket was used by the newest reply. Then takes
// miss the events that leases lose, and nodes request smaller parts. An ample bucket is not
// pressed, because parts hold most of what it lacks.
func (h *hot) pressed(r *limiter.Rule) bool { return !h.ample && 5*h.used > r.Capacity() }

// scarce reports whether less than a quarter of the bucket was left by the newest reply.
func (h *hot) scarce(r *limiter.Rule) bool { return 4*(r.Capacity()-h.used) < r.Capacity() }

// noteScarcity updates scarceFor before a reply of the instant at takes the place of the newest
// reply.
func (a account) noteScarcity(r *limiter.Rule, at limiter.Instant) {
	if !a.scarce(r) {
		a.scarceFor = 0
		return
	}
	a.scarceFor = uint16(min(int64(a.scarceFor)+max(0, int64(at-a.seenAt)/1000), math.MaxUint16))
}

// eventsAtOnce returns for how many takes the events that a part has at once suffice.
func eventsAtOnce(r *limiter.Rule) int64 {
	if r.HasSmallBucket() {
		return fewEvents
	}
	return partEvents
}

// wantPart returns what to request of a bucket: a number of events at once, and a share of the
// refill. unit is the cost of a take. A bucket that the account knows nothing of is taken for
// ample. Of a bucket that is not ample, both are 0 in a small fleet while the bucket may be scarce
// because of a burst.
func (a account) wantPart(r *limiter.Rule, now instant, unit int64, nodes int) (events, share int64) {
	if a.ample || a.seenAt == 0 {
		expected := min(math.Ceil(ampleFor*a.demandRate(r)), maxWant)
		return max(partEvents*max(1, unit), int64(expected)), 0
	}
	if nodes <= fewNodes && a.scarce(r) && int64(a.scarceFor)*1000+a.sinceBase(now) < longBurst {
		return 0, 0
	}
	factor, events := partFactor, eventsAtOnce(r)*max(1, unit)
	if a.pressed(r) {
		factor = 1
	} else {
		events = max(events, r.Capacity()/partFraction)
	}
	refill, per := r.Rate()
	s := math.Ceil(factor * a.demandRate(r) * float64(per) / float64(refill) * limiter.Shares)
	return events, int64(min(s, limiter.Shares))
}

// hasPart reports whether there is a part that has not been returned.
func (h *hot) hasPart() bool { return h.share > 0 || h.granted[1] > 0 }

// holdsParts reports whether there is a part, or events are kept of one.
func (h *hot) holdsParts() bool { return h.hasPart() || h.granted[0] > 0 }

// accrued returns how many events the part has accrued, or 0 if it was granted under another limit.
func (h *hot) accrued(r *limiter.Rule, now instant) int64 {
	if h.share == 0 || h.share&otherLimit != 0 {
		return 0
	}
	accrued := r.PartAccrues(int64(h.share), h.sinceBase(now)-int64(h.arrivedAfter))
	return min(accrued, math.MaxInt32) // remaining has to hold how many of these are spent
}

func (bucketParts) fill(a account, r *limiter.Rule, now instant, l *limiter.LeaseRequest) {
	if l.Need > 0 || a.expires[1] == 0 {
		a.returnPart(l, 0)
	}
	if l.Need > 0 && r.Leases() {
		l.Want, l.Share = a.wantPart(r, now, l.Need, l.Nodes)
	}
}

func (bucketParts) refill(a account, r *limiter.Rule, now instant, roundTrip int64, l *limiter.LeaseRequest) {
	unit := int64(1)
	if !a.ample { // otherwise the size of the part does not tell
		unit = int64(a.granted[1]) / eventsAtOnce(r)
	}
	l.Want, l.Share = a.wantPart(r, now, unit, l.Nodes)
	a.returnPart(l, a.keepOfPart(r, now, roundTrip))
}

func (bucketParts) add(a account, r *limiter.Rule, sent, now instant, l *limiter.LeaseRequest, granted limiter.Instant) {
	lasts := limiter.ByStoreClock(int64(l.Expires - l.Decision.At))
	if !a.appliesTo(r) {
		lasts = 0 // the limit has changed since the request: the part is returned at once
	}
	a.granted[1], a.share, a.grantedAt[1] = leaseSize(l.Granted), uint16(l.GrantedShare), granted
	if a.share > 0 && !a.appliesTo(r) {
		a.share |= otherLimit
	}
	a.remaining[1] = int32(a.granted[1])
	a.arrivedAfter = uint32(min(now.since(a.base), math.MaxUint32))
	a.expires[1] = uint32(max(0, min((sent.since(a.base)+lasts)/1000, math.MaxUint32)))
	a.beginSpends(r, now)
}

// returnPart has l return the parts. It keeps keep events of the newest part in the older lease, to
// be spent until the part ends.
//
// The store works out what a returned part has accrued by the rate of the request. If the limit was
// raised since the grant, that is more than the part has accrued. So of a part of another limit,
// only the events at once that are left are given back, as those of a part without a share.
func (a account) returnPart(l *limiter.LeaseRequest, keep int64) {
	for i := range a.granted {
		if a.granted[i] > 0 || i == 1 && a.share > 0 {
			l.Returns[i] = limiter.Return{
				Events: limiter.Events{At: a.grantedAt[i], N: int64(a.granted[i])},
				Spent:  int64(a.granted[i]) - int64(a.remaining[i]),
			}
		}
	}
	if a.share > 0 {
		l.Returns[1].Share = int64(a.share &^ otherLimit)
	}
	if a.share&otherLimit != 0 {
		l.Returns[1].Spent = limiter.MaxEvents
		if left := int64(a.remaining[1]); left > 0 && a.granted[0] == 0 {
			l.Returns[0].Events = limiter.Events{At: a.grantedAt[1], N: left}
			l.Returns[1].N -= left
		}
	}
	a.tellSpends(l)
	l.Returns[1].N -= keep
	a.granted[0], a.remaining[0] = uint32(keep), int32(keep)
	a.expires[0], a.grantedAt[0] = a.expires[1], a.grantedAt[1]
	a.granted[1], a.remaining[1], a.share = 0, 0, 0
}

// dropPassed drops the parts that have ended.
func (bucketParts) dropPassed(h *hot, _ *limiter.Rule, now instant) (events int64) {
	for i := range h.expires {
		if h.expires[i] > 0 && h.usableFor(i, now) == 0 {
			events += max(0, int64(h.remaining[i])) // how much has accrued is not known any more
			h.granted[i], h.remaining[i] = 0, 0
			if i == 1 {
				h.share, h.windowEnds = 0, 0
			}
		}
	}
	return events
}

func (bucketParts) holds(a account, now instant, before int, e limiter.Events) (lease int, ok bool) {
	fits := before == 1 && a.hasPart() || int64(a.remaining[before])+e.N <= int64(a.granted[before])
	return before, fits && a.grantedAt[before] == e.At && a.usableFor(before, now) > 0
}

func (bucketParts) returnedAsSpent() bool { return true }

// outlive drops the parts if another incarnation of the store has replied: its bucket does not
// refill less because of them. After a reset the parts stay, and they count against what the bucket
// has from then on.
func (bucketParts) outlive(h *hot, reset bool) {
	if !reset {
		h.granted, h.remaining, h.share, h.windowEnds = [2]uint32{}, [2]int32{}, 0, 0
	}
}

func (bucketParts) isLow(h *hot, r *limiter.Rule, now instant, roundTrip int64) bool {
	switch {
	case !h.hasPart():
		return false
	case h.partIsDue(now):
		return true
	case h.ample && h.share == 0:
		return float64(h.leased(r, now)) <= math.Ceil(2*h.demandRate(r)*float64(roundTrip)-2*sparse)
	}
	return h.demandRate(r)*float64(roundTrip) >= sparse && float64(h.leased(r, now)) < max(1, float64(h.granted[1])/lowPart)
}

// partIsDue reports whether the part ends soon, so that it should be renewed or returned.
func (h *hot) partIsDue(now instant) bool { return h.hasPart() && now >= h.partDueAt() }

// partDueAt returns when the part should be renewed or returned.
func (h *hot) partDueAt() instant {
	arrived, ends := int64(h.arrivedAfter), int64(h.expires[1])*1000
	return h.base.plus(arrived + (ends-arrived)*partDue/8)
}

// nextReturn has a part looked after when it is due, and when it ends. If the bucket is pressed and
// no take comes, it has the part looked after as soon as the part is idle.
func (bucketParts) nextReturn(a account, r *limiter.Rule, now instant) (expired bool, next instant) {
	if !a.holdsParts() {
		return false, 0
	}
	if next = a.partDueAt(); now >= next {
		next = now.plus(a.usableFor(1, now))
	}
	if a.pressed(r) {
		next = min(next, a.idleSince(now).plus(a.idleAfter(r)))
	}
	return a.expires[1] == 0, max(now+1, next)
}

// idleAfter returns after how many µs without a take a part is idle.
func (h *hot) idleAfter(r *limiter.Rule) int64 {
	wait := max(idlePart, (int64(h.expires[1])*1000-int64(h.arrivedAfter))/8)
	if rate := h.demandRate(r); rate*float64(r.LeaseTime()) > idleGaps {
		return max(wait, int64(idleGaps/rate))
	}
	return r.LeaseTime()
}

func (a account) partIsIdle(r *limiter.Rule, now instant) bool {
	return now.since(a.idleSince(now)) >= a.idleAfter(r)
}

// shouldRenew reports whether the part should be renewed because it ends soon, or returned because
// no take comes for it.
func (bucketParts) shouldRenew(a account, r *limiter.Rule, now instant) bool {
	lasts := a.usableFor(1, now)
	switch {
	case !a.hasPart() || lasts == 0:
		return false
	case a.pressed(r):
		return a.partIsDue(now) || a.partIsIdle(r, now)
	}
	return a.partIsDue(now) && a.demandRate(r)*float64(8*lasts) >= renewable
}

// keepOfPart returns how many events the account keeps for takes until the reply to a request. They
// are at most the part's events at once, because the store goes on counting these as held.
func (h *hot) keepOfPart(r *limiter.Rule, now instant, roundTrip int64) int64 {
	demand := h.demandRate(r) * float64(roundTrip)
	if demand < sparse {
		return 0
	}
	return min(h.usable(r, 1, now), int64(h.granted[1]), int64(math.Ceil(2*demand)))
}

// nextOfPart returns when the part will have accrued what a take of cost events still lacks, or
// when the part ends if that is earlier.
func (a account) nextOfPart(r *limiter.Rule, now instant, cost int64) instant {
	ends := now.plus(a.usableFor(1, now))
	lacks := cost - a.usable(r, 0, now) - int64(a.remaining[1])
	at := a.base.plus(int64(a.arrivedAfter)).plus(r.PartTimeFor(int64(a.share), lacks))
	return min(ends, max(now, at))
}
