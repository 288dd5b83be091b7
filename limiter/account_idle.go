package limiter

import "math"

// Due reports whether leased events are to go back at now, as they can be spent no more, and when to look after the others: at their
// end, or a little later when that is the end of a window. 0 if there are none.
func (b *Balance) Due(r *Rule, now Instant) (back bool, ends Instant) {
	m := momentOf(now)
	for i := range b.left {
		switch {
		case b.left[i] == 0:
		case b.ends[i].after(m):
			ends = max(ends, now+Instant(b.ends[i].since(m)))
		case !b.passed(r, m):
			back = true
		}
	}
	if r.slot == 0 && ends > 0 {
		if next := now + Instant(b.untilNext(r, m)); ends > next-intoNext {
			ends = next + intoNext
		}
	}
	return back && !b.Asking(), ends
}

// intoNext is how long after the end of a window the leases that ended with it are looked after, in µs: so long that the next one has
// begun for the store as well, and what is wanted is lent in that.
const intoNext = 2000

// Expire drops leased events of a window that has passed, which are of no use to anybody, and returns how many.
func (b *Balance) Expire(r *Rule, now Instant) (events int64) {
	if m := momentOf(now); b.passed(r, m) {
		for i := range b.left {
			if b.lot(i, m) == 0 {
				events += int64(b.left[i])
				b.left[i] = 0
			}
		}
	}
	return events
}

// passed reports whether the window has passed in which the store has answered last, and counts no more.
func (b *Balance) passed(r *Rule, m moment) bool {
	return r.Algorithm.Kind == FixedWindow && b.untilEnd(r, m) == 0
}

// Retire makes all that is leased go back: nothing of it is spent any more. It reports whether there is something.
func (b *Balance) Retire(now Instant) bool {
	m := momentOf(now)
	b.ends[0], b.ends[1] = m, m
	return b.held() > 0
}

// Outstanding returns how many events are leased, and how many are owed.
func (a Account) Outstanding() (leased, owed int64) {
	return a.held(), a.debt()
}

// IdleSince returns when the account was last used, as far as that can be told at now.
func (a Account) IdleSince(now Instant) Instant {
	m := momentOf(now)
	return now - Instant(min(m.since(a.shownAt), m.since(a.askedAt)))
}

// Idle reports whether nothing is lost when the account is forgotten: it holds nothing, remembers nothing, and was not used for so
// many µs.
func (a Account) Idle(r *Rule, now Instant, idleFor int64) bool {
	if a.creditAt != 0 || a.guesses { // within a window, there is neither credit nor the whole limit again
		idleFor = max(idleFor, r.window)
	}
	return !a.Asking() && a.held() == 0 && !a.owes && !a.Denies(now, math.MaxInt64) &&
		now-a.IdleSince(now) > Instant(idleFor)
}
