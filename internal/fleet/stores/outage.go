package stores

import (
	"sync"
	"sync/atomic"
	"time"
)

// An outageLog follows whether a store fails. A store fails from its first failure until an answer that
// comes at least quietAfter after its last failure. A single answer does not end the outage, because
// answers and failures alternate while one of several primaries is down. The zero value is a store that
// answers. An outageLog is safe for concurrent use.
type outageLog struct {
	failing atomic.Bool // written with mu held; each request reads it

	mu       sync.Mutex
	last     time.Time // the instant of the last failure
	failures uint64    // number of failures in this outage
}

const quietAfter = 5 * time.Second

// failed notes a failure at now. It reports whether the failure begins an outage.
func (l *outageLog) failed(now time.Time) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.After(l.last) {
		l.last = now
	}
	l.failures++
	return !l.failing.Swap(true)
}

// answered notes an answer at now. It reports whether the answer ends an outage, and the number of
// failures in that outage.
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
