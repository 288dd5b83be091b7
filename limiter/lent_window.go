package limiter

import "slices"

// What is lent in a window, or a sub-window, dies with it: the counts are those of the algorithms as they are. Of leases they
// remember the latest end alone.

// follow returns the end of the last lease at now, when it was leased at the instant at: 0 when that had passed, and no later than
// a lease can end when the clock was set back.
func follow(leased, at, now Instant) Instant {
	if leased <= at {
		return 0
	}
	at, _ = at.follow(now)
	return min(leased, at+maxLease)
}

// A lendingFixed is a fixed window whose events are lent.
type lendingFixed struct {
	fixedWindow
	leased Instant // the latest end of a lease
}

func (f *lendingFixed) clone() lendingCount {
	c := *f
	return &c
}

func (f *lendingFixed) newest() Instant { return f.at }

func (f *lendingFixed) advance(r *Rule, now Instant) (moved bool) {
	end := f.end
	_, setBack := f.at.follow(now)
	f.leased = follow(f.leased, f.at, now)
	f.fixedWindow.advance(r, now)
	return setBack || f.used > 0 && f.end != end
}

func (f *lendingFixed) consumed() int64 { return f.used }

func (f *lendingFixed) consume(_ *Rule, n int64) { f.used += n }

func (f *lendingFixed) lend(r *Rule, n int64) {
	f.consume(r, n)
	f.leased = f.lentUntil()
}

func (f *lendingFixed) decide(d *Decision, r *Rule, ok bool, cost int64) {
	f.fixedWindow.decide(d, r, ok, cost)
	d.capRetry(f.leased)
}

func (f *lendingFixed) leasedUntil() Instant { return f.leased }

func (f *lendingFixed) lentUntil() Instant { return min(f.end, f.at+maxLease) }

func (f *lendingFixed) giveBack(r *Rule, e Events) { f.refund(r, f.at, e.At, e.N) }

func (f *lendingFixed) undo(r *Rule, e, _ Events) { f.giveBack(r, e) }

func (f *lendingFixed) restoreSeen(_ *Rule, n int64) { f.used = max(f.used, n) }

// A lendingSliding is a sliding window whose events are lent.
type lendingSliding struct {
	slidingWindow
	leased Instant // the latest end of a lease
}

func (w *lendingSliding) clone() lendingCount {
	c := *w
	c.counts = slices.Clone(w.counts)
	return &c
}

func (w *lendingSliding) newest() Instant { return w.at }

func (w *lendingSliding) advance(r *Rule, now Instant) (moved bool) {
	_, setBack := w.at.follow(now)
	moved = setBack || w.sub != 0 && w.sub != r.sub
	w.leased = follow(w.leased, w.at, now)
	w.slidingWindow.advance(r, now)
	return moved
}

func (w *lendingSliding) consumed() int64 { return w.used() }

func (w *lendingSliding) consume(_ *Rule, n int64) {
	w.counts[w.cur] += n
	w.full += n
}

func (w *lendingSliding) lend(r *Rule, n int64) {
	w.consume(r, n)
	w.leased = w.lentUntil()
}

func (w *lendingSliding) decide(d *Decision, r *Rule, ok bool, cost int64) {
	w.slidingWindow.decide(d, r, ok, cost)
	d.capRetry(w.leased)
}

func (w *lendingSliding) leasedUntil() Instant { return w.leased }

func (w *lendingSliding) lentUntil() Instant { return min(w.start+Instant(w.sub), w.at+maxLease) }

func (w *lendingSliding) giveBack(r *Rule, e Events) { w.refund(r, w.at, e.At, e.N) }

func (w *lendingSliding) undo(r *Rule, e, _ Events) { w.giveBack(r, e) }

func (w *lendingSliding) restoreSeen(r *Rule, n int64) { w.consume(r, max(0, n-w.used())) }
