package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// owe notes that cost events were admitted at now which the store has neither debited nor will by a
// request under way. The next request has them debited as far as there are any left: all at once,
// as the key could use again what is not debited yet, and at most once, as they are forgotten if
// the outcome is unknown. It returns how many events are not owed any more, or never were, as that
// is one limit at most.
func (a account) owe(r *limiter.Rule, now instant, cost int64) (dropped int64) {
	if dropped = a.dropOwed(r, now); a.owed == 0 {
		a.owedAfter = uint32(min(a.sinceBase(now)/1000, math.MaxUint32))
	}
	owed := min(int64(a.owed)+cost, r.Capacity(), limiter.MaxMore)
	dropped += int64(a.owed) + cost - owed
	a.owed = uint32(owed)
	return dropped
}

// dropOwed drops what is owed of a window that has passed, or that a bucket has got back since, but
// not while a request may have it debited. It returns how many events that are.
func (a account) dropOwed(r *limiter.Rule, now instant) (dropped int64) {
	if a.owed == 0 || a.requesting {
		return 0
	}
	if dropped = a.passedOwed(r, now); dropped > 0 && dropped < int64(a.owed) {
		took := math.Ceil(float64(dropped) / float64(a.owed) * float64(a.sinceOwed(now)) / 1000)
		a.owedAfter = uint32(min(float64(a.owedAfter)+took, math.MaxUint32))
	}
	return a.paidOwed(dropped)
}

// sinceOwed returns for how many µs the oldest debt has been owed.
func (a account) sinceOwed(now instant) int64 {
	return a.sinceBase(now) - int64(a.owedAfter)*1000
}

// passedOwed returns how many of the events that are owed have left the window since.
//
// Only their number is known, and when the first and the newest were admitted. Unless a fixed
// window has passed, those between are assumed to be evenly spread. So a key in steady use owes
// what it used in the last window.
func (a account) passedOwed(r *limiter.Rule, now instant) int64 {
	age, window := a.sinceOwed(now), r.FillTime().Microseconds()
	passed := age - window
	switch {
	case r.Algorithm.Kind == limiter.FixedWindow && a.seenAt != 0:
		if r.UntilNext(a.seenAt+limiter.Instant(a.owedAfter)*1000) > age {
			return 0
		}
		return int64(a.owed)
	case passed >= 0 && a.sinceRequest(now) >= window:
		return int64(a.owed)
	case passed > window/owedSteps:
		return int64(float64(passed) / float64(age) * float64(a.owed))
	}
	return 0
}

// owedSteps is in how many steps a window drops what is owed. With more, it would matter that
// owedAfter is rounded to ms.
const owedSteps = 64

// paidOwed notes that events of what is owed are debited, or that they must not be any more. It
// returns how many were still owed.
func (h *hot) paidOwed(events int64) (paid int64) {
	paid = min(events, int64(h.owed))
	h.owed -= uint32(paid)
	return paid
}
