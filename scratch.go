package fleetlimit

import (
	"sync"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A requestBuffers is memory that a handler needs only until the store has answered, or until a rejection is written. Requests use
// one after the other, so that none of it is allocated per request. It has a single user: stores are done with takes and
// keys when they return, also for a request that is abandoned, and writers with a body when it is written.
type requestBuffers struct {
	takes []limiter.Take // of the results whose rule is counted, in their order
	said  said
	keys  [256]byte // room for the keys of takes, one behind the other
}

var requestBuffersPool = sync.Pool{New: func() any { return new(requestBuffers) }}

// release gives s to the next request, without anything that keeps this one's keys in memory. It remembers what was said last,
// which is of a configuration that may end; a sync.Pool forgets it soon.
func (s *requestBuffers) release() {
	clear(s.takes)
	s.takes = s.takes[:0]
	requestBuffersPool.Put(s)
}
