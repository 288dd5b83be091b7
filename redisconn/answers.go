package redisconn

import (
	"sync/atomic"
	"time"
)

// Answers reports whether the primary of a key answers: nothing was asked of it, or nothing that it has left unanswered for so long.
// A call that fails nevertheless with ErrTimeout or ErrBusy has waited for others.
func (c *Client) Answers(key string, within time.Duration) bool {
	t := c.table.Load()
	if t == nil {
		return false
	}
	q := t.queue(slotOf(key))
	return q != nil && q.silence.shorterThan(within)
}

// silence is for how long a primary has left unanswered what it was asked.
type silence struct {
	began time.Time    // when the queue was made
	since atomic.Int64 // when it was asked first after its last answer, in ns since began; 0: it was not
	down  atomic.Bool  // it cannot be reached, or says that it takes no calls
}

// asked notes that the primary is asked.
func (s *silence) asked() {
	if s.since.Load() == 0 {
		s.since.CompareAndSwap(0, int64(max(1, time.Since(s.began))))
	}
}

// broken notes an answer.
func (s *silence) broken() {
	if s.since.Load() != 0 {
		s.since.Store(0)
	}
	if s.down.Load() {
		s.down.Store(false)
	}
}

func (s *silence) shorterThan(d time.Duration) bool {
	since := s.since.Load()
	return !s.down.Load() && (since == 0 || time.Since(s.began)-time.Duration(since) <= d)
}
