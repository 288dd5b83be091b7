package leasetest

import (
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// What is lent in a window, or a sub-window, expires with it. So the counts are those of the
// algorithms as they are, and the only thing they know of leases is the latest instant at which one
// expires.
type latestLease struct{ leased limiter.Instant }

func (l *latestLease) leasedUntil() limiter.Instant { return l.leased }

// follow forgets a lease that had expired at the newest reading. If the clock was set back to at,
// the lease expires no later than one that is lent then.
func (l *latestLease) follow(newest, at limiter.Instant) {
	if l.leased <= newest {
		l.leased = 0
	}
	l.leased = min(l.leased, at+maxLease)
}

// A lendingFixed is a fixed window that lends.
type lendingFixed struct {
	latestLease
	at, ends limiter.Instant
	length   limiter.Instant // of the window
	used     int64
}

func (f *lendingFixed) clone() lendingCount {
	c := *f
	return &c
}

func (f *lendingFixed) newest() limiter.Instant { return f.at }

func (f *lendingFixed) consumed() int64 { return f.used }

// advance begins the window of now. If the current window has not ended, what is used goes along
// into one of another length, or into that of a clock that was set back.
func (f *lendingFixed) advance(r *limiter.Rule, now limiter.Instant) (moved bool) {
	at, setBack := follow(f.at, now)
	f.follow(f.at, at)
	ends := f.ends
	if at >= f.ends {
		f.used = 0
	}
	if at >= f.ends || setBack || f.length != window(r) {
		f.length = window(r)
		f.ends = begin(at, int64(f.length)) + f.length
	}
	f.at = at
	return setBack || f.used > 0 && f.ends != ends
}

func (f *lendingFixed) consume(_ *limiter.Rule, n int64) { f.used += n }

func (f *lendingFixed) lend(l *limiter.LeaseRequest) {
	if n := lendable(l, l.Rule.Capacity()-f.used); n > 0 {
		f.used += n
		f.leased = min(f.ends, f.at+maxLease)
		l.Granted, l.Expires = n, f.leased
	}
}

func (f *lendingFixed) decide(d *limiter.Decision, r *limiter.Rule, ok bool, cost int64) {
	if decide(d, r, f.at, f.used, ok, cost) {
		d.RetryAt = f.ends
		capRetry(d, f.leased)
	}
	if f.used > 0 {
		d.ResetAt = f.ends
	}
}

func (f *lendingFixed) takeBack(r *limiter.Rule, l limiter.Return, _ limiter.Spends) {
	f.cancel(r, l.Events, limiter.Events{})
}

func (f *lendingFixed) cancel(_ *limiter.Rule, e, _ limiter.Events) {
	if e.At >= f.ends-f.length && e.At < f.ends {
		f.used = max(0, f.used-e.N)
	}
}

func (f *lendingFixed) restoreSeen(_ *limiter.Rule, n int64) { f.used = max(f.used, n) }

func (f *lendingFixed) addQuota(_ *limiter.Rule, n int64) { f.used = max(0, f.used-n) }

// A lendingSliding is a sliding window counter that lends.
type lendingSliding struct {
	latestLease
	at, begins limiter.Instant // begins is that of the current sub-window
	sub        int64           // the length of a sub-window in µs; 0 before the first call
	counts     []int64         // by sub-window, the newest first
}

func (w *lendingSliding) clone() lendingCount {
	c := *w
	c.counts = slices.Clone(w.counts)
	return &c
}

func (w *lendingSliding) newest() limiter.Instant { return w.at }

// full returns the sum of all sub-windows but the oldest.
func (w *lendingSliding) full() (n int64) {
	for _, c := range w.counts[:len(w.counts)-1] {
		n += c
	}
	return n
}

// consumed weighs the oldest sub-window by the part of it that is still in the window, rounded up.
func (w *lendingSliding) consumed() int64 {
	oldest := w.counts[len(w.counts)-1]
	if oldest == 0 {
		return w.full()
	}
	n, rest := mulAddDiv(oldest, w.sub-int64(w.at-w.begins), 0, w.sub)
	return w.full() + n + min(rest, 1)
}

// advance begins the sub-window of now. If the clock was set back, or the sub-windows are others,
// what is used goes along into the current one.
func (w *lendingSliding) advance(r *limiter.Rule, now limiter.Instant) (moved bool) {
	at, setBack := follow(w.at, now)
	w.follow(w.at, at)
	if !setBack {
		w.at = at
		if w.sub > 0 {
			passed := int64(at-w.begins) / w.sub
			w.begins += limiter.Instant(passed * w.sub)
			shift := min(int(passed), len(w.counts))
			copy(w.counts[shift:], w.counts)
			clear(w.counts[:shift])
		}
	}
	moved = setBack || w.sub != 0 && w.sub != r.SubWindow()
	if setBack || w.sub != r.SubWindow() {
		used := w.consumed()
		clear(w.counts)
		w.at, w.sub, w.counts[0] = at, r.SubWindow(), used
		w.begins = begin(at, w.sub)
	}
	return moved
}

func (w *lendingSliding) consume(_ *limiter.Rule, n int64) { w.counts[0] += n }

func (w *lendingSliding) lend(l *limiter.LeaseRequest) {
	if n := lendable(l, l.Rule.Capacity()-w.consumed()); n > 0 {
		w.counts[0] += n
		w.leased = min(w.begins+limiter.Instant(w.sub), w.at+maxLease)
		l.Granted, l.Expires = n, w.leased
	}
}

func (w *lendingSliding) decide(d *limiter.Decision, r *limiter.Rule, ok bool, cost int64) {
	if decide(d, r, w.at, w.consumed(), ok, cost) {
		d.RetryAt = w.fallsTo(r.Capacity() - cost)
		capRetry(d, w.leased)
	}
	for i, n := range w.counts {
		if n > 0 {
			d.ResetAt = w.begins + limiter.Instant(int64(len(w.counts)-i)*w.sub)
			return
		}
	}
}

// fallsTo returns the first instant at which no more than room events are in the window. room >= 0,
// and more than that are in it now.
func (w *lendingSliding) fallsTo(room int64) limiter.Instant {
	begins, full, oldest := w.begins, w.full(), len(w.counts)-1
	for full > room { // until then, the weight of the oldest does not matter
		begins += limiter.Instant(w.sub)
		oldest--
		full -= w.counts[oldest]
	}
	left, _ := mulAddDiv(room-full, w.sub, 0, w.counts[oldest])
	return begins + limiter.Instant(w.sub-min(w.sub, left))
}

func (w *lendingSliding) takeBack(r *limiter.Rule, l limiter.Return, _ limiter.Spends) {
	w.cancel(r, l.Events, limiter.Events{})
}

func (w *lendingSliding) cancel(_ *limiter.Rule, e, _ limiter.Events) {
	if e.At >= w.begins+limiter.Instant(w.sub) {
		return
	}
	begins := w.begins
	for i := range w.counts {
		if e.At >= begins {
			w.counts[i] = max(0, w.counts[i]-e.N)
			return
		}
		begins -= limiter.Instant(w.sub)
	}
}

func (w *lendingSliding) restoreSeen(_ *limiter.Rule, n int64) {
	w.counts[0] += max(0, n-w.consumed())
}

// addQuota reduces the oldest count, which is weighed.
func (w *lendingSliding) addQuota(_ *limiter.Rule, n int64) {
	goal, oldest := max(0, w.consumed()-n), len(w.counts)-1
	for i := range w.counts[:oldest] {
		back := min(n, w.counts[i])
		w.counts[i] -= back
		n -= back
	}
	if w.consumed() > goal { // the most of which no more than goal count
		most, _ := mulAddDiv(goal, w.sub, 0, w.sub-int64(w.at-w.begins))
		w.counts[oldest] = min(w.counts[oldest], most)
	}
}
