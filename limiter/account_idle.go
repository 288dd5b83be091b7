package limiter

// Due reports whether leased events are to go back at now, as they can be spent no more, and when to look again if some are
// left until then; Never if none are.
func (a *Account) Due(r *Rule, now Instant) (back bool, again Instant) {
	m := momentOf(now)
	again = Never
	for i := range a.left {
		switch {
		case a.left[i] == 0:
		case a.ends[i].after(m):
			again = min(again, now+Instant(a.ends[i].since(m)))
		case r.slot == 0 && a.untilEnd(r, m) == 0: // its window has passed
			a.left[i] = 0
		default:
			back = true
		}
	}
	return back && !a.Asking(), again
}

// Retire makes all that is leased go back: nothing of it is spent any more. It reports whether there is something.
func (a *Account) Retire(now Instant) bool {
	m := momentOf(now)
	a.ends[0], a.ends[1] = m, m
	return a.left[0]+a.left[1] > 0
}

// Outstanding returns how many events are leased, and how many are owed.
func (a *Account) Outstanding() (leased, owed int64) {
	return a.left[0] + a.left[1], int64(a.owed - a.paid)
}

// IdleSince returns when the account was last used, as far as that can be told at now.
func (a *Account) IdleSince(now Instant) Instant {
	m := momentOf(now)
	return now - Instant(min(m.since(a.shownAt), m.since(a.askedAt)))
}
