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

// A lentFixed is a fixed window whose events are lent.
type lentFixed struct {
	fixedWindow
	leased Instant // the latest end of a lease
}

func (f *lentFixed) clone() lendable {
	c := *f
	return &c
}

func (f *lentFixed) newest() Instant { return f.at }

func (f *lentFixed) settle(r *Rule, now Instant) (moved bool) {
	end := f.end
	_, setBack := f.at.follow(now)
	f.leased = follow(f.leased, f.at, now)
	f.fixedWindow.settle(r, now)
	return setBack || f.used > 0 && f.end != end
}

func (f *lentFixed) consumed() int64 { return f.used }

func (f *lentFixed) consume(_ *Rule, n int64) { f.used += n }

func (f *lentFixed) lend(r *Rule, n int64) {
	f.consume(r, n)
	f.leased = f.lentUntil()
}

func (f *lentFixed) decide(d *Decision, r *Rule, ok bool, cost int64) {
	f.fixedWindow.decide(d, r, ok, cost)
	d.capRetry(f.leased)
}

func (f *lentFixed) leasedUntil() Instant { return f.leased }

func (f *lentFixed) lentUntil() Instant { return min(f.end, f.at+maxLease) }

func (f *lentFixed) giveBack(r *Rule, e Events) { f.refund(r, f.at, e.At, e.N) }

func (f *lentFixed) undo(r *Rule, e, _ Events) { f.giveBack(r, e) }

func (f *lentFixed) raise(_ *Rule, n int64) { f.used = max(f.used, n) }

// A lentSliding is a sliding window whose events are lent.
type lentSliding struct {
	slidingWindow
	leased Instant // the latest end of a lease
}

func (w *lentSliding) clone() lendable {
	c := *w
	c.counts = slices.Clone(w.counts)
	return &c
}

func (w *lentSliding) newest() Instant { return w.at }

func (w *lentSliding) settle(r *Rule, now Instant) (moved bool) {
	_, setBack := w.at.follow(now)
	moved = setBack || w.sub != 0 && w.sub != r.sub
	w.leased = follow(w.leased, w.at, now)
	w.slidingWindow.settle(r, now)
	return moved
}

func (w *lentSliding) consumed() int64 { return w.used() }

func (w *lentSliding) consume(_ *Rule, n int64) {
	w.counts[w.cur] += n
	w.full += n
}

func (w *lentSliding) lend(r *Rule, n int64) {
	w.consume(r, n)
	w.leased = w.lentUntil()
}

func (w *lentSliding) decide(d *Decision, r *Rule, ok bool, cost int64) {
	w.slidingWindow.decide(d, r, ok, cost)
	d.capRetry(w.leased)
}

func (w *lentSliding) leasedUntil() Instant { return w.leased }

func (w *lentSliding) lentUntil() Instant { return min(w.start+Instant(w.sub), w.at+maxLease) }

func (w *lentSliding) giveBack(r *Rule, e Events) { w.refund(r, w.at, e.At, e.N) }

func (w *lentSliding) undo(r *Rule, e, _ Events) { w.giveBack(r, e) }

func (w *lentSliding) raise(r *Rule, n int64) { w.consume(r, max(0, n-w.used())) }
