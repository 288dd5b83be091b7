// Package pace bounds how long a client may keep its request waiting: for the body that it sends, and
// for room for the response that it reads. A request that holds a place of a limit needs that bound,
// as a client that does nothing would hold the place for ever.
//
// Only the time counts in which a read or a write waits for the client. An upstream that is slow
// costs the client nothing: a stream of events, or a WebSocket, may be idle for as long as it lasts.
package pace

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// The time that a client has. It is used up while a read or write waits for the client, and some of it comes
// back with each byte that the client sends or reads.
const (
	readPatience  = 20 * time.Second
	writePatience = 30 * time.Second // kernels say late that the other end has read something
	leastUpload   = 500              // bytes a second
	leastDownload = 1000             // bytes a second

	// A request is idle when a read or write has waited for the client for idleAfter.
	idleAfter = time.Second

	// chunk is how many bytes are written at once: fewer than a client at leastDownload reads within
	// writePatience.
	chunk = 24 << 10
)

// mostBuffered is how many bytes of a body Await waits for before the request goes on, unless the body is
// shorter.
const mostBuffered = 64 << 10

// A Pace bounds how long the client of one request may keep it waiting.
type Pace struct {
	// Idle is called with true when a read or write has waited for the client for a second, and with false
	// when that read or write is over. The calls are concurrent, and may come in another order. Idle may be
	// nil.
	Idle func(bool)

	request *http.Request
	read    side
	write   side
	body    *body // nil if no body has to come
}

// New returns the pace of the client of r, whose response is written to w.
func New(w http.ResponseWriter, r *http.Request) *Pace {
	control := http.NewResponseController(w)
	p := &Pace{request: r}
	p.read = side{pace: p, deadline: control.SetReadDeadline, patience: readPatience, left: readPatience, rate: leastUpload}
	p.write = side{pace: p, deadline: control.SetWriteDeadline, patience: writePatience, left: writePatience, rate: leastDownload}
	return p
}

// BodyStalled reports whether the body came so slowly that a read of it has failed.
func (p *Pace) BodyStalled() bool { return p.read.stalled.Load() }

// ReaderStalled reports whether the client has read the response so slowly that a write has failed.
func (p *Pace) ReaderStalled() bool { return p.write.stalled.Load() }

// A side is one direction: the read of the body, or the write of the response. One goroutine at a time waits
// for the client.
type side struct {
	pace     *Pace
	deadline func(time.Time) error
	patience time.Duration
	rate     time.Duration // bytes a second
	stalled  atomic.Bool
	off      atomic.Bool // the client may take any time

	mu    sync.Mutex // guards left
	left  time.Duration
	timer *time.Timer // calls Idle; nil before the first wait
}

// await calls do, which waits for the client, and returns how many bytes do has moved. do fails if the client
// has used up its time.
func (s *side) await(do func() (int, error)) (n int, err error) {
	began, left := time.Now(), s.remaining()
	if s.off.Load() || s.deadline(began.Add(left)) != nil {
		return do()
	}
	if s.pace.Idle != nil {
		if s.timer == nil {
			s.timer = time.AfterFunc(idleAfter, func() { s.pace.Idle(true) })
		} else {
			s.timer.Reset(idleAfter)
		}
		defer func() {
			if !s.timer.Stop() {
				s.pace.Idle(false)
			}
		}()
	}
	n, err = do()
	took := time.Since(began)
	if err != nil && took >= left && !s.off.Load() {
		s.stalled.Store(true) // the deadline stays: what the server itself still reads and writes fails at once
		return n, err
	}
	s.mu.Lock()
	s.left = min(s.patience, s.left-took+time.Duration(n)*time.Second/s.rate)
	s.mu.Unlock()
	_ = s.deadline(time.Time{}) // deadlines were supported just now
	return n, err
}

// remaining returns how long a read or write may wait for the client, at least a millisecond.
func (s *side) remaining() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.left, time.Millisecond)
}

// turnOff lets the client take any time, also in a read or write that waits now.
func (s *side) turnOff() {
	if !s.off.Swap(true) {
		_ = s.deadline(time.Time{}) // if deadlines are not supported, nothing is bounded anyway
	}
}
