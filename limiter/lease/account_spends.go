package lease

import (
	"math"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// While the newer lease is a part without a share, the account notes in which windows of the
// store's time its events were spent: see limiter.Spends. What the bucket has refilled in vain
// since then pays for these events when the part is returned. So an event is noted in the window in
// which it was spent or in a later one, and never in an earlier one.
//
// A take compares two numbers. Only when the window has ended, the events that were spent of the
// part since noteSpends was called last are noted in that window. windowEnds is 0 if the part has a
// share, if the limit has changed since the grant, or if there is no part.

// beginSpends begins to note the spends of the part that has arrived at now, if it needs that.
func (a account) beginSpends(r *limiter.Rule, now instant) {
	a.spends, a.spendsNoted, a.windowEnds = limiter.Spends{}, 0, 0
	if a.share == 0 && a.appliesTo(r) && r.OverflowWindow() > 0 {
		a.noteSpends(r, now)
	}
}

// noteSpends notes what takes have spent of the part until now, and goes on to the window of now.
func (a account) noteSpends(r *limiter.Rule, now instant) {
	a.noteSpent()
	since, length, s := a.sinceBase(now), r.OverflowWindow(), &a.spends
	at := int64(a.seenAt) + limiter.MostByStoreClock(since)
	if passed := at/length - s.Newest; passed > 0 {
		moveSpends(s, passed)
	}
	lasts := limiter.ByStoreClock((s.Newest+1)*length - at) // or a little less
	a.windowEnds = uint32(min(since+max(1, lasts), math.MaxUint32))
}

// moveSpends makes a window the newest one of s that comes the given number of windows later. What
// was spent before the oldest window is noted in that.
func moveSpends(s *limiter.Spends, windows int64) {
	const last = limiter.OverflowWindows - 1
	n, older := min(windows, limiter.OverflowWindows), 0
	for _, events := range s.Events[max(0, last-n):] {
		older += int(events)
	}
	copy(s.Events[n:], s.Events[:])
	clear(s.Events[:n])
	s.Events[last] = uint16(min(older, math.MaxUint16))
	s.Newest += windows
}

// noteSpent notes in the newest window what takes have spent since noteSpends was called last.
func (a account) noteSpent() {
	if n := int64(a.granted[1]) - int64(a.remaining[1]) - int64(a.spendsNoted); n > 0 {
		a.spends.Events[0] = uint16(min(int64(a.spends.Events[0])+n, math.MaxUint16))
		a.spendsNoted += uint32(n)
	}
}

// unnoteSpends takes off n events that an undone take has spent of the part at the instant at, by
// the store's clock, before they go back to the part. They may be noted in a later window than that
// of the instant. But the older the windows are from which events are taken off, the less pays for
// the events that stay.
func (a account) unnoteSpends(r *limiter.Rule, at limiter.Instant, n int64) {
	if !a.appliesTo(r) { // the limit has changed
		a.windowEnds = 0
		return
	}
	a.noteSpent()
	a.spendsNoted -= uint32(min(n, int64(a.spendsNoted)))
	passed := a.spends.Newest - int64(at)/r.OverflowWindow()
	first := int(max(0, min(passed, limiter.OverflowWindows)))
	for i := range a.spends.Events[first:] {
		n = a.takeOffSpends(first+i, n)
	}
	for i := first - 1; i >= 0; i-- {
		n = a.takeOffSpends(i, n)
	}
}

// takeOffSpends takes off up to n events of the window Newest - i, and returns how many it lacks.
func (c *cold) takeOffSpends(i int, n int64) (lacks int64) {
	e := min(n, int64(c.spends.Events[i]))
	c.spends.Events[i] -= uint16(e)
	return n - e
}

// tellSpends has l, which returns the part, say when the part's events were spent.
func (a account) tellSpends(l *limiter.LeaseRequest) {
	if a.windowEnds == 0 {
		return
	}
	if a.noteSpent(); a.spendsNoted > 0 {
		l.Spends = a.spends
	}
	a.spends, a.spendsNoted, a.windowEnds = limiter.Spends{}, 0, 0
}
