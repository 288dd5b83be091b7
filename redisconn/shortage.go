package redisconn

import (
	"sync"
	"time"
)

const (
	// shortFor is how long a primary counts as short of memory after it has refused a call for want
	// of it.
	shortFor = 5 * time.Second

	// newKeysPerSecond is how many calls that may create a key are sent to a primary in a second
	// while it is short of memory: enough to find out when there is room again, and few enough that
	// keys which exist get the memory that becomes free.
	newKeysPerSecond = 100
)

// A shortage bounds the calls that may create keys while a primary is short of memory. Its refusals
// are all that is known about that. The zero value is that of a primary that has room.
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

// A memory is the shortage of a primary. It is safe for concurrent use.
type memory struct {
	mu       sync.Mutex
	shortage shortage
}

func (m *memory) refused() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shortage.refused(time.Now())
}

func (m *memory) admits() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shortage.admits(time.Now())
}
