package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Due reports whether leased events are to go back at now, as they can be spent no more, and when to look after the others: at their
// end, or a little later when that is the end of a window. 0 if there are none.
func (b *hot) Due(r *limiter.Rule, now limiter.Instant) (back bool, ends limiter.Instant) {
	for i := range b.remaining {
		switch lasts := b.usableFor(i, now); {
		case b.remaining[i] == 0:
		case lasts > 0:
			ends = max(ends, now+limiter.Instant(lasts))
		case !b.passed(r, now):
			back = true
		}
	}
	if r.LeaseSlot() == 0 && ends > 0 {
		if next := now + limiter.Instant(b.untilNext(r, now)); ends > next-intoNext {
			ends = next + intoNext
		}
	}
	return back && !b.Asking(), ends
}

// intoNext is how long after the end of a window the leases that ended with it are looked after, in µs: so long that the next one has
// begun for the store as well, and what is wanted is lent in that.
const intoNext = 2000

// Expire drops leased events of a window that has passed, which are of no use to anybody, and returns how many.
func (b *hot) Expire(r *limiter.Rule, now limiter.Instant) (events int64) {
	if b.passed(r, now) {
		for i := range b.remaining {
			if b.usable(i, now) == 0 {
				events += int64(b.remaining[i])
				b.remaining[i] = 0
			}
		}
	}
	return events
}

// passed reports whether the window has passed in which the store has answered last, and counts no more.
func (b *hot) passed(r *limiter.Rule, now limiter.Instant) bool {
	return r.Algorithm.Kind == limiter.FixedWindow && b.untilEnd(r, now) == 0
}

// Retire makes all that is leased go back: nothing of it is spent any more. It reports whether there is something.
func (b *hot) Retire() bool {
	b.expires = [2]uint16{}
	return b.held() > 0
}

// Outstanding returns how many events are leased, and how many are owed.
func (a account) Outstanding() (leased, owed int64) {
	return a.held(), a.debt()
}

// IdleSince returns when the account was last used, as far as that can be told at now.
func (a account) IdleSince(now limiter.Instant) limiter.Instant {
	return min(now, max(a.heardAt+limiter.Instant(a.shownAt), a.askedAt()))
}

// Idle reports whether nothing is lost when the account is forgotten: it holds nothing, remembers nothing, and was not used for so
// many µs.
func (a account) Idle(r *limiter.Rule, now limiter.Instant, idleFor int64) bool {
	if a.guesses { // within a window, there is not the whole limit again
		idleFor = max(idleFor, r.Limit.Window.Microseconds())
	}
	return !a.Asking() && a.held() == 0 && !a.inDebt && !a.hadCredit(r, now) && !a.Denies(now, math.MaxInt64) &&
		now-a.IdleSince(now) > limiter.Instant(idleFor)
}
