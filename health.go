package fleetlimit

import (
	"sync"
	"sync/atomic"
	"time"
)

// health follows whether a store answers, so that a change is logged and not every request. A store counts as failing from
// the first failure until an answer that comes quietAfter after the last one: where one of several primaries is down,
// answers and failures alternate for as long as it lasts. So between two lines that say the same there is at least
// quietAfter. The zero value is that of a store that answers. It is safe for concurrent use.
type health struct {
	failing atomic.Bool // changed with mu held, read by every request

	mu       sync.Mutex // guards what follows
	last     time.Time  // the last failure
	failures uint64     // since it is failing
}

// quietAfter is how long nothing must fail for a store to be back.
const quietAfter = 5 * time.Second

// failed notes a failure at now and reports whether it is the first.
func (h *health) failed(now time.Time) (begins bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.After(h.last) {
		h.last = now
	}
	h.failures++
	return !h.failing.Swap(true)
}

// answered notes an answer at now. It reports whether the store is back with it, and how many requests have failed.
func (h *health) answered(now time.Time) (back bool, failures uint64) {
	if !h.failing.Load() {
		return false, 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.failing.Load() || now.Sub(h.last) < quietAfter {
		return false, 0
	}
	failures, h.failures = h.failures, 0
	h.failing.Store(false)
	return true, failures
}
