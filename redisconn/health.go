package redisconn

import (
	"sync/atomic"
	"time"
)

// Answers reports whether the primary of a key answers. It does when nothing that it was asked has
// been unanswered for longer than within. If a call fails nevertheless with ErrTimeout or ErrBusy,
// it has waited for others.
func (c *Client) Answers(key string, within time.Duration) bool {
	q := c.table.Load().slots[slotOf(key)]
	return q != nil && q.answersWithin(within)
}

// health is what the answers of a primary, and their absence, say about it.
type health struct {
	began     time.Time    // when the queue was made
	since     atomic.Int64 // of the first call after its last answer, in ns since began; 0: there is none
	last      atomic.Int64 // of its last answer, in ns since began
	failing   atomic.Bool  // from the first failure or silence until the next answer
	onFailing func()       // called when failing becomes true

	breaker *breaker
	lag     lag          // of this process
	latency atomic.Int64 // of the newest probe, in ns
}

func (h *health) asked() {
	h.since.CompareAndSwap(0, int64(max(1, time.Since(h.began))))
}

// reached notes that the primary answers, though perhaps no call.
func (h *health) reached() {
	h.since.Store(0)
	h.last.Store(int64(time.Since(h.began)))
}

// answered notes that the primary answered a call.
func (h *health) answered() {
	h.reached()
	h.failing.Store(false)
}

// fail notes that the primary failed or is silent.
func (h *health) fail() {
	if h.failing.CompareAndSwap(false, true) {
		h.onFailing()
	}
}

func (h *health) answersWithin(d time.Duration) bool {
	since := h.since.Load()
	return h.breaker.admits() && (since == 0 || time.Since(h.began)-time.Duration(since) <= d)
}

// idleFor reports whether the primary was asked nothing, and answered nothing, for d.
func (h *health) idleFor(d time.Duration) bool {
	return h.since.Load() == 0 && time.Since(h.began)-time.Duration(h.last.Load()) >= d
}

const (
	// shortFor is how long a primary counts as short of memory after it has refused a call.
	shortFor = 5 * time.Second

	// newKeysPerSecond is how many calls that may create a key are sent to a primary in a second
	// while it is short of memory. That is enough to find out when there is room again, and few
	// enough to leave what becomes free to the keys that exist.
	newKeysPerSecond = 100
)

// A shortage bounds the calls that may create keys while a primary is short of memory. The zero
// value is that of a primary that has room.
type shortage struct {
	until    time.Time // short before it
	begin    time.Time // of the second in which calls are counted
	admitted int       // in that second
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
