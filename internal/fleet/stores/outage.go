package stores

import (
	"sync"
	"sync/atomic"
	"time"
)

// An outageLog follows whether a store answers. A store is failing from its first failure until it
// answers quietAfter or more after its last failure: while one of several primaries is down,
// answers and failures alternate. The zero value is a store that answers. It is safe for concurrent
// use.
type outageLog struct {
	failing atomic.Bool // written with mu held, read by every request

	mu       sync.Mutex
	last     time.Time // of the failures
	failures uint64    // since the store is failing
}

const quietAfter = 5 * time.Second

// failed notes a failure at now and reports whether it is the first.
func (l *outageLog) failed(now time.Time) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.After(l.last) {
		l.last = now
	}
	l.failures++
	return !l.failing.Swap(true)
}

// answered notes an answer at now. It reports whether the store has recovered with it, and after
// how many failures.
func (l *outageLog) answered(now time.Time) (recovered bool, failures uint64) {
	if !l.failing.Load() {
		return false, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.failing.Load() || now.Sub(l.last) < quietAfter {
		return false, 0
	}
	failures, l.failures = l.failures, 0
	l.failing.Store(false)
	return true, failures
}
