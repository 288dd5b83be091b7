package limiter

// What is lent in a window, or a sub-window, dies with it: the counts are those of the algorithms as they are.

func (f *fixedWindow) consumed() int64 { return f.used }

func (f *fixedWindow) consume(_ *Rule, n int64) { f.used += n }

func (f *fixedWindow) lend(r *Rule, n int64) { f.consume(r, n) }

func (f *fixedWindow) lentUntil() Instant { return min(f.end, f.at+maxLease) }

func (f *fixedWindow) giveBack(r *Rule, e Events) { f.refund(r, f.at, e.At, e.N) }

func (f *fixedWindow) undo(r *Rule, e, _ Events) { f.giveBack(r, e) }

func (f *fixedWindow) raise(_ *Rule, seen Events) {
	if seen.At >= f.end-Instant(f.window) && seen.At < f.end {
		f.used = max(f.used, seen.N)
	}
}

func (w *slidingWindow) consumed() int64 { return w.used() }

func (w *slidingWindow) consume(_ *Rule, n int64) {
	w.counts[w.cur] += n
	w.full += n
}

func (w *slidingWindow) lend(r *Rule, n int64) { w.consume(r, n) }

func (w *slidingWindow) lentUntil() Instant { return min(w.start+Instant(w.sub), w.at+maxLease) }

func (w *slidingWindow) giveBack(r *Rule, e Events) { w.refund(r, w.at, e.At, e.N) }

func (w *slidingWindow) undo(r *Rule, e, _ Events) { w.giveBack(r, e) }

func (w *slidingWindow) raise(r *Rule, seen Events) {
	if seen.At >= w.start && seen.At < w.start+Instant(w.sub) {
		w.consume(r, max(0, seen.N-w.used()))
	}
}
