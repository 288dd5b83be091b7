package redisconn

import (
	"sync/atomic"
	"time"
)

// Refusal returns the error that calls with a key get at once, because the breaker of the key's primary
// is not closed or because no primary could be found yet. Otherwise it returns nil, so always unless
// [Client.Failing] reports true. It takes no lock.
func (c *Client) Refusal(key string) error {
	t := c.table.Load()
	if len(t.queues) == 0 {
		if reason := c.reason.Load(); reason != nil {
			return *reason
		}
		return nil
	}
	q := t.slots[slotOf(key)]
	if q == nil || q.breaker.admits() {
		return nil // a call without a primary has the primaries looked up
	}
	return q.breaker.err()
}

// health is what the answers of a primary, and their absence, say about it.
type health struct {
	began   time.Time    // when the queue was made
	since   atomic.Int64 // when it was first asked after its last answer, in ns since began; 0 if it was not
	last    atomic.Int64 // when it answered last, in ns since began
	latency atomic.Int64 // how long the newest answered pipeline or probe took, in ns

	breaker *breaker
	errors  errorCounts
	inspect atomic.Pointer[Server] // what it has said about itself; nil if it has said nothing yet
	lag     lag
}

func (h *health) asked() {
	h.since.CompareAndSwap(0, int64(max(1, time.Since(h.began))))
}

// answered notes that the primary answers.
func (h *health) answered() {
	h.since.Store(0)
	h.last.Store(int64(time.Since(h.began)))
}

// silentFor reports whether the primary has answered nothing for longer than d after it was asked.
func (h *health) silentFor(d time.Duration) bool {
	since := h.since.Load()
	return since > 0 && time.Since(h.began)-time.Duration(since) > d
}

// idleFor reports whether the primary was asked nothing, and answered nothing, for d.
func (h *health) idleFor(d time.Duration) bool {
	return h.since.Load() == 0 && time.Since(h.began)-time.Duration(h.last.Load()) >= d
}

const (
	// shortFor is how long a primary counts as short of memory after it has refused a call.
	shortFor = 5 * time.Second

	// newKeysPerSecond is how many calls that may create a key are sent to a primary in a second while
	// it is short of memory. That is enough to find out when there is room again, and few enough to
	// leave the memory that becomes free to the keys that exist.
	newKeysPerSecond = 100
)

// A shortage bounds the calls that may create keys while a primary is short of memory. The zero value
// stands for a primary that has room.
type shortage struct {
	until    time.Time // the primary is short of memory before it
	begin    time.Time // begin of the second in which calls are counted
	admitted int       // number of calls admitted in that second
}

// refused notes that the primary refused a call at now.
func (s *shortage) refused(now time.Time) { s.until = now.Add(shortFor) }

// admits reports whether a call that may create a key is sent at now, and counts it.
func (s *shortage) admits(now time.Time) bool {
	if !now.Before(s.until) {
		return true
	}
	if now.Sub(s.begin) >= time.Second {
		s.begin, s.admitted = now, 0
	}
	s.admitted++
	return s.admitted <= newKeysPerSecond
}
