package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// oweLocked adds cost events to the debt of a, which its next request settles. Without a request
// under way, the wheel sees to that.
func (s *Store) oweLocked(l *location, a account, r *limiter.Rule, now instant, cost int64) {
	s.addDebt(a, r, now, cost)
	if l.queueLocked() == nil {
		s.backOffLocked(l, a, now)
	}
}

// addDebt adds cost events to the debt of a, and counts them.
func (s *Store) addDebt(a account, r *limiter.Rule, now instant, cost int64) {
	if cost == 0 {
		return
	}
	s.stats.debt.Add(uint64(cost))
	s.stats.debtDropped.Add(uint64(a.addDebt(r, now, cost)))
}

// addDebt notes that cost events were admitted at now which the store has not debited, and will not
// debit by a request under way. The next request settles the whole debt, as far as there are events
// left: else the key could use them again. A debt is told once, and dropped if it is not known what
// the store did. It is one limit at most, and addDebt drops the rest.
func (a account) addDebt(r *limiter.Rule, now instant, cost int64) (dropped int64) {
	if dropped = a.dropPassedDebt(r, now); a.debt == 0 {
		a.debtAfter = uint32(min(a.sinceBase(now)/1000, math.MaxUint32))
	}
	debt := min(int64(a.debt)+cost, r.Capacity(), limiter.MaxMore)
	dropped += int64(a.debt) + cost - debt
	a.debt = uint32(debt)
	return dropped
}

// dropPassedDebt drops the debt of a window that has passed, or that a bucket has got back since,
// but not while a request may settle it. It returns how many events it drops.
func (a account) dropPassedDebt(r *limiter.Rule, now instant) (dropped int64) {
	if a.debt == 0 || a.requesting {
		return 0
	}
	if dropped = a.passedDebt(r, now); dropped > 0 && dropped < int64(a.debt) {
		took := math.Ceil(float64(dropped) / float64(a.debt) * float64(a.debtAge(now)) / 1000)
		a.debtAfter = uint32(min(float64(a.debtAfter)+took, math.MaxUint32))
	}
	return a.reduceDebt(dropped)
}

// debtAge returns how long ago the first event of the debt was admitted, in µs.
func (a account) debtAge(now instant) int64 {
	return a.sinceBase(now) - int64(a.debtAfter)*1000
}

// passedDebt returns how many events of the debt have left the window since.
//
// The account knows their number, and when the first and the newest were admitted. It takes those
// between as evenly spread, unless a fixed window has passed. So the debt of a key in steady use is
// what it used in the last window.
func (a account) passedDebt(r *limiter.Rule, now instant) int64 {
	age, window := a.debtAge(now), r.FillTime().Microseconds()
	passed := age - window
	switch {
	case r.Algorithm.Kind == limiter.FixedWindow && a.seenAt != 0:
		if r.UntilNext(a.seenAt+limiter.Instant(a.debtAfter)*1000) > age {
			return 0
		}
		return int64(a.debt)
	case passed >= 0 && a.sinceRequest(now) >= window:
		return int64(a.debt)
	case passed > window/debtSteps:
		return int64(float64(passed) / float64(age) * float64(a.debt))
	}
	return 0
}

// debtSteps is in how many steps the debt of a window is dropped. With more, it would matter that
// debtAfter is rounded to ms.
const debtSteps = 64

// reduceDebt notes that events of the debt are settled or dropped. It returns how many there were
// still.
func (h *hot) reduceDebt(events int64) (were int64) {
	were = min(events, int64(h.debt))
	h.debt -= uint32(were)
	return were
}
