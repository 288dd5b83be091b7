package redisconn

import (
	"container/list"
	"errors"
	"sync/atomic"
	"time"
)

// A Call runs a script once, and holds the result.
//
// It belongs to the caller before and after Do, which copies the arguments and drops results that
// come too late. It belongs to the client from Start until the client reports that it is done.
type Call struct {
	Script *Script
	Keys   []string // at least one, all in the slot of the first
	Args   []any    // strings, byte slices, integers, and Incarnation{}
	NewKey bool     // the key may not exist: few such calls are sent to a primary that is out of memory

	// Written, if it is not nil, is called when the call has been written to the socket. It is called
	// again if the call is written again, because Redis said that it did not execute it. The goroutine
	// that writes calls it, and never after the call is done. It must not block. It may still be called
	// after Do has returned.
	Written func()

	Reply any // as go-redis decodes it: int64, string, []any; nil when the script returned nothing
	// Err is ErrTimeout, ErrClosed, ErrNoPrimary, ErrBusy, ErrMemory, an error of the network, or
	// an error that Redis replied (a redis.Error).
	Err error

	// Incarnation is the incarnation of the server that answered, below 2^32. It is 0 if no server
	// answered or if the incarnation is unknown: see the type Incarnation.
	Incarnation uint64
}

var errNoKey = errors.New("redisconn: the call has no key: use a key, whose slot selects the primary")

// The states of a pending call.
//
//	held ⇄ queued                push and take, under the lock of the queue
//	held ─▶ done                 by its holder
//	held, queued ─▶ abandoned    by its caller
//
// done and abandoned are final. Only a queued call can be taken, and only a taken call is sent. So
// a call whose caller left while it was queued is never sent.
const (
	held      uint32 = iota // held by the caller that makes it, by a worker, or by a retry
	queued                  // it is in the queue that its field queue names
	done                    // reply and err are set, and belong to the caller
	abandoned               // the caller has gone
)

// A pending is a call on its way.
type pending struct {
	script   *Script
	args     []any // the EVALSHA command
	slot     int
	newKey   bool
	deadline time.Time // the call is not sent after it

	// onWritten is called when the call is written; may be nil. See [Call].
	onWritten func()

	// onDone is called when the call is answered, by its holder and with no lock held. It must not
	// block, and may queue further calls.
	onDone func()

	state   atomic.Uint32
	queue   atomic.Pointer[queue]     // the last queue it was pushed to; changes only while held
	element *list.Element             // in that queue, guarded by its lock
	written atomic.Pointer[time.Time] // when it was written last; nil if it was never written
	again   atomic.Bool               // it was written more than once

	// The following fields belong to the holder.
	asking       bool        // send ASKING before it
	moved, asked bool        // whether MOVED, and whether ASK, has redirected it
	flushed      int         // how often Redis has not known its script
	server       incarnation // incarnation of the server that it is sent to; args may point to it

	reply       any
	err         error
	incarnation incarnation // incarnation of the server that answered
}

// wrote notes that p was written. The caller of wrote holds p.
func (p *pending) wrote(at *time.Time) {
	if p.written.Swap(at) != nil {
		p.again.Store(true)
	}
	if p.onWritten != nil {
		p.onWritten()
	}
}

// answer ends p. The caller of answer holds p.
func (p *pending) answer(reply any, err error) {
	p.reply, p.err = reply, err
	if p.state.CompareAndSwap(held, done) {
		p.onDone()
	}
}

// leave ends the caller's wait. answered reports whether p has been answered. If it has not, p no
// longer belongs to the caller. unsent reports that p was still queued, and so will not be sent.
func (p *pending) leave() (answered, unsent bool) {
	for {
		switch state := p.state.Load(); {
		case state == done:
			return true, false
		case p.state.CompareAndSwap(state, abandoned):
			if state == queued {
				p.queue.Load().remove(p)
			}
			return false, state == queued
		}
	}
}
