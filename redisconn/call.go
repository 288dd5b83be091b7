package redisconn

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	redis "github.com/redis/go-redis/v9"
)

// A Call asks for one run of a script, and holds its result.
//
// It belongs to the caller before and after Do: results that come too late are not written into it, and neither Keys nor
// Args are read any more. It belongs to the client from Start until that says that it is done.
type Call struct {
	Script *redis.Script // made by redis.NewScript; sent by its digest, and in full when Redis does not know it
	Keys   []string      // at least one, all in the slot of the first
	Args   []any         // strings, byte slices, integers, and the placeholder Run
	NewKey bool          // the key may not exist yet: such calls are bounded while the primary is short of memory

	Reply       any    // as go-redis decodes it: int64, string, []any; nil when the script returned nothing
	Err         error  // ErrTimeout, ErrClosed, ErrNoPrimary, ErrBusy, what the network said, or an error of Redis (redis.Error)
	Incarnation uint64 // which run of the server answered, see the placeholder Run; 0 when none did. Below 2^32
}

var errNoKey = errors.New("redisconn: the call has no key: the first of its keys says which primary to ask")

// The states of a pending call.
//
//	held ⇄ queued           push and take, under the lock of the queue
//	held ─▶ done            by whoever holds it
//	held, queued ─▶ left    by its caller
//
// done and left are final. Only a queued call can be taken and only a taken call is sent, so the two ways out of queued
// exclude each other: a call whose caller left it queued is never sent.
const (
	held   uint32 = iota // by the caller that makes it, by a worker, or by the timer that tries it again
	queued               // in the queue it calls home
	done                 // reply and err are set, and are the caller's to read
	left                 // the caller has gone
)

// A pending is a call on its way.
type pending struct {
	script   *redis.Script
	args     []any // the EVALSHA command
	slot     int
	newKey   bool
	deadline time.Time // not sent after it
	caller   caller

	state atomic.Uint32
	queue atomic.Pointer[queue] // the last queue it was pushed to; changes only while held

	// Of the holder:
	asking       bool // send ASKING before it
	moved, asked bool // has been sent on by MOVED, by ASK
	to           incarnationArg

	reply any
	err   error
	run   uint64 // 0 when no server answered
}

// A caller is told when a call of its is answered. It must not block, and may queue further calls: it is told by whoever
// holds the call, with no lock held.
type caller interface{ answered() }

// A waiter is the caller that waits for the last of its calls.
type waiter struct {
	open atomic.Int64
	done chan struct{}
}

func newWaiter(calls int) *waiter {
	w := &waiter{done: make(chan struct{})}
	w.open.Store(int64(calls))
	return w
}

func (w *waiter) answered() {
	if w.open.Add(-1) == 0 {
		close(w.done)
	}
}

// init makes p the call c. The byte slices of the arguments are shared with c.
func (p *pending) init(c *Call) error {
	if len(c.Keys) == 0 {
		return errNoKey
	}
	args, err := command(c, &p.to)
	p.script, p.args, p.slot, p.newKey = c.Script, args, slotOf(c.Keys[0]), c.NewKey
	return err
}

// own gives p memory of its own, for a caller that may go before it is sent.
func (p *pending) own() {
	n := 0
	for _, arg := range p.args {
		if b, ok := arg.([]byte); ok {
			n += len(b)
		}
	}
	copies := make([]byte, 0, n)
	for i, arg := range p.args {
		if b, ok := arg.([]byte); ok {
			copies = append(copies, b...)
			p.args[i] = copies[len(copies)-len(b) : len(copies) : len(copies)]
		}
	}
}

// result writes what came of p into c.
func (p *pending) result(c *Call) { c.Reply, c.Err, c.Incarnation = p.reply, p.err, p.run }

// answer ends p, which the caller of answer holds.
func (p *pending) answer(reply any, err error) {
	p.reply, p.err = reply, err
	if p.state.CompareAndSwap(held, done) {
		p.caller.answered()
	}
}

// leave ends p for its caller. It reports whether p was answered before; if not, p is not the caller's any more.
func (p *pending) leave() bool {
	for {
		switch p.state.Load() {
		case done:
			return true
		case queued:
			if p.state.CompareAndSwap(queued, left) {
				p.queue.Load().dead.Add(1)
				return false
			}
		default:
			if p.state.CompareAndSwap(held, left) {
				return false
			}
		}
	}
}

// command returns the EVALSHA of c, with to for each Run.
func command(c *Call, to *incarnationArg) ([]any, error) {
	args := make([]any, 0, 3+len(c.Keys)+len(c.Args))
	args = append(args, "evalsha", c.Script.Hash(), len(c.Keys))
	for _, key := range c.Keys {
		args = append(args, key)
	}
	for i, arg := range c.Args {
		switch v := arg.(type) {
		case string, []byte, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		case Placeholder:
			if v != Incarnation {
				return nil, fmt.Errorf("redisconn: argument %d is placeholder %d: there is only Run", i+1, v)
			}
			arg = to
		default:
			// Found here, because a worker that finds it has half a pipeline of other calls written.
			return nil, fmt.Errorf("redisconn: argument %d is a %T: only strings, byte slices and integers can be sent", i+1, arg)
		}
		args = append(args, arg)
	}
	return args, nil
}
