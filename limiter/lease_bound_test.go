package limiter

// checkBound checks that no span of what was admitted to a key holds more than its algorithm promises, and what a failover
// has made the store forget.
func (a *audit) checkBound(key int, k *keyAudit) {
	admitted, r := k.inOrder(), a.most
	switch r.Algorithm.Kind {
	case TokenBucket:
		a.checkBucket(key, admitted, k.forgotten)
	case SlidingWindowLog:
		a.checkLog(key, admitted, r.capacity+a.budget()+k.forgotten)
	case FixedWindow:
		a.checkFixed(key, admitted, r.capacity+a.budget()+k.forgotten)
	default:
		a.checkSliding(key, admitted, r.capacity+a.budget()+k.forgotten)
	}
}

// budget returns how many events of credit the bound allows.
func (a *audit) budget() int64 {
	if a.most.Credit(a.fewest) == 0 {
		return 0
	}
	return int64(a.most.MaxOvershoot * float64(a.most.Limit.Events))
}

// checkBucket checks all spans at once: a bucket of the size of the bound is filled by what was admitted.
func (a *audit) checkBucket(key int, admitted []*admission, forgotten int64) {
	r := a.most
	bound := float64(r.capacity+forgotten) + r.MaxOvershoot*float64(r.Limit.Events)
	level, at := 0.0, Instant(0)
	for _, e := range admitted {
		level = max(0, level-float64(int64(e.at-at)*r.refill)/float64(r.per)) + float64(e.n)
		if at = e.at; level > bound+1e-6 {
			a.failAt(at, key, "in a span up to %d, %.2f more were admitted than accrue in it, want at most %.2f",
				at, level, bound)
		}
	}
}

func (a *audit) checkLog(key int, admitted []*admission, most int64) {
	var n int64
	first := 0
	for _, e := range admitted {
		n += e.n
		for admitted[first].at <= e.at-Instant(a.most.window) {
			n -= admitted[first].n
			first++
		}
		if n > most {
			a.failAt(e.at, key, "admitted in the window up to %d = %d, want at most %d", e.at, n, most)
		}
	}
}

func (a *audit) checkFixed(key int, admitted []*admission, most int64) {
	var n int64
	var window Instant
	for _, e := range admitted {
		if begin := e.at - Instant(e.at.into(a.most.window)); begin != window {
			n, window = 0, begin
		}
		if n += e.n; n > most {
			a.failAt(e.at, key, "admitted in the window of %d = %d, want at most %d", e.at, n, most)
		}
	}
}

// checkSliding counts what was admitted as the algorithm does.
func (a *audit) checkSliding(key int, admitted []*admission, most int64) {
	w := NewLedger(a.most.Algorithm).count.(*lendingSliding)
	for _, e := range admitted {
		w.advance(a.most, e.at)
		w.consume(a.most, e.n)
		if n := w.used(); n > most {
			a.failAt(e.at, key, "admitted in the window up to %d = %d, want at most %d", e.at, n, most)
		}
	}
}
