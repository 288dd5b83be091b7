package redisconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Client sends calls to the primaries of one Redis. It is safe for concurrent use.
type Client struct {
	options  Options
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	workers  sync.WaitGroup // the workers and all other goroutines
	topology *topology
	early    *queue // holds the calls made before the first load, which ends it
	scripts  usedScripts

	table  atomic.Pointer[table]
	reason atomic.Pointer[error] // why the last load failed, an ErrNoPrimary; nil if it did not fail
	lookup atomic.Pointer[error] // why loads have failed for lookupPatience; nil if they have not

	answered atomic.Int64 // how many nodes have answered the last load

	mu        sync.Mutex
	queues    map[string]*queue // by address; nil once closed
	maxQueues int
}

// New returns a client of the Redis that o describes. It dials nothing, and works with Redis down.
func New(o Options) *Client {
	c := &Client{options: o.withDefaults(), queues: make(map[string]*queue), maxQueues: maxQueues}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.table.Store(new(table))
	c.topology = newTopology(c)
	c.early = newQueue(c.ctx, "", &c.options, c.topology.wake)
	if c.topology.ask != nil {
		c.workers.Go(c.topology.run)
		return c
	}
	if len(o.Addresses) > 0 {
		_ = c.use(view{primaries: []slots{{0, slotCount - 1, o.Addresses[0]}}}) // one queue always fits
	}
	c.early.close()
	return c
}

// Close ends all goroutines and connections. All calls that have no answer get ErrClosed, and are
// done when Close returns. A call must not call Close when it is done.
func (c *Client) Close() {
	c.mu.Lock()
	queues := c.queues
	c.queues = nil
	c.mu.Unlock()
	c.cancel()
	c.early.close()
	for _, q := range queues {
		q.close()
	}
	c.workers.Wait()
}

// Timeout returns Options.Timeout.
func (c *Client) Timeout() time.Duration { return c.options.Timeout }

// Do runs calls at the same time. It returns when it has set the results of all calls. A call that
// cannot be written within Options.Timeout is not written any more, and gets ErrUnsent. A call that is
// written, but not answered within another Options.Timeout, gets ErrTimeout. So Do takes at most two
// Options.Timeout, or three if a call was written again because Redis had refused to execute it. While
// this process is late, Do may take one Options.Timeout more: see [Client.Lag]. When ctx ends, calls
// without an answer get these errors at once.
func (c *Client) Do(ctx context.Context, calls ...*Call) {
	if len(calls) == 0 {
		return
	}
	w := wait{client: c, began: time.Now(), pendings: make([]pending, len(calls))}
	timer := time.NewTimer(c.options.Timeout)
	defer timer.Stop()
	answered, done := latch(len(calls))
	for i, call := range calls {
		p := &w.pendings[i]
		p.onDone, p.deadline = answered, w.last()
		c.submit(p, call)
	}
	var ended error
	for more := true; more; {
		more = false
		select {
		case <-done:
		case <-timer.C:
			var d time.Duration
			if d, more = w.more(time.Now()); more {
				timer.Reset(d)
			}
		case <-ctx.Done():
			ended = context.Cause(ctx)
		case <-c.ctx.Done():
		}
	}
	for i, call := range calls {
		p := &w.pendings[i]
		answered, unsent := p.leave()
		if answered {
			call.Reply, call.Err, call.Incarnation = p.reply, p.err, uint64(p.incarnation)
			continue
		}
		err := ErrTimeout
		switch {
		case c.ctx.Err() != nil:
			err = ErrClosed
		case unsent:
			err = ErrUnsent
			p.queue.Load().errors.note(err)
		}
		if ended != nil {
			err = fmt.Errorf("%w: %w", err, ended)
		}
		call.Reply, call.Err, call.Incarnation = nil, err, 0
	}
}

// Start runs call without waiting for it. The call is sent within a second or not at all, and ends
// about a second after that, when a connection without answers is closed. A longer Options.Timeout
// takes the place of both seconds.
//
// Start calls done exactly once, when call holds its result. After Close, the result is ErrClosed. done
// runs on the goroutine that has the answer, with no lock of the client held. If the call fails at
// once, done runs before Start returns. It must not block, because other calls wait for the same
// goroutine. It may start calls, but not in an endless chain: calls that fail at once would nest.
func (c *Client) Start(call *Call, done func()) {
	p := &pending{deadline: time.Now().Add(c.options.detached())}
	p.onDone = func() {
		call.Reply, call.Err, call.Incarnation = p.reply, p.err, uint64(p.incarnation)
		done()
	}
	c.submit(p, call)
}

// Send starts calls, one or more. It returns a channel that is closed when all are done.
func (c *Client) Send(calls ...*Call) (done <-chan struct{}) {
	answered, done := latch(len(calls))
	for _, call := range calls {
		c.Start(call, answered)
	}
	return done
}

// latch returns a function, and a channel that is closed after n calls of the function.
func latch(n int) (arrive func(), done <-chan struct{}) {
	var open atomic.Int64
	open.Store(int64(n))
	all := make(chan struct{})
	return func() {
		if open.Add(-1) == 0 {
			close(all)
		}
	}, all
}

// submit fills p from call and queues p. If p cannot be queued, submit answers it with an error.
func (c *Client) submit(p *pending, call *Call) {
	if err := p.init(call); err != nil {
		p.answer(nil, err)
		return
	}
	c.dispatch(p)
}

// init fills p from c. It fails if c has no key, or an argument of a type that cannot be sent.
func (p *pending) init(c *Call) error {
	if len(c.Keys) == 0 {
		return errNoKey
	}
	p.script, p.slot, p.newKey, p.onWritten = c.Script, slotOf(c.Keys[0]), c.NewKey, c.Written
	p.args = make([]any, 0, 3+len(c.Keys)+len(c.Args))
	p.args = append(p.args, "evalsha", c.Script.digest, len(c.Keys))
	for _, key := range c.Keys {
		p.args = append(p.args, key)
	}
	for i, arg := range c.Args {
		switch v := arg.(type) {
		case string, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		case []byte:
			arg = string(v) // a copy: the caller of Do may leave, and change v, before it is sent
		case Incarnation:
			arg = &p.server
		default:
			// A worker would find it only when half of a pipeline with other calls is written.
			return fmt.Errorf("redisconn: argument %d is a %T: use a string, a byte slice or an integer", i+1, arg)
		}
		p.args = append(p.args, arg)
	}
	return nil
}

// dispatch queues p at the primary of its slot. If it cannot, it answers p with an error. The caller of
// dispatch holds p.
func (c *Client) dispatch(p *pending) {
	err := ErrClosed
	for range 2 {
		q := c.early
		if t := c.table.Load(); len(t.queues) > 0 {
			q = t.slots[p.slot]
		}
		if q == nil {
			break
		}
		// early ends after the first table is stored. Another queue ends after a table without that
		// queue is stored. So a second look finds the new table.
		if err = q.push(p); err == nil {
			return
		}
		if err != ErrClosed || c.ctx.Err() != nil {
			break
		}
	}
	if err == ErrClosed && c.ctx.Err() == nil {
		c.topology.wake()
		if err = ErrNoPrimary; c.reason.Load() != nil {
			err = *c.reason.Load()
		}
	}
	p.answer(nil, err)
}

// redirect queues p at the server at addr, whether or not the table has it. If it cannot, it answers p
// with an error. The caller of redirect holds p.
func (c *Client) redirect(p *pending, addr string) {
	c.mu.Lock()
	q, err := c.queues[addr], errStrangers
	if q != nil || len(c.queues)-len(c.table.Load().queues) < maxStrangers {
		q, err = c.queueLocked(addr), ErrClosed
	}
	c.mu.Unlock()
	if q != nil {
		err = q.push(p)
	}
	switch {
	case err == nil:
	case errors.Is(err, ErrOpen) && !slices.Contains(c.table.Load().queues, q):
		// The server is a primary again, and the next table has a new queue for it.
		c.retry([]*pending{p})
	default:
		p.answer(nil, err)
	}
}

// retry waits for a moment and then queues calls again that Redis has not executed. It looks up their
// primary anew, except after an ASK, which names a server that is not yet the primary of the slot.
func (c *Client) retry(calls []*pending) {
	calls = slices.Clone(calls)
	c.workers.Go(func() { // not a timer, which Close could not wait for
		select {
		case <-time.After(retryPause):
		case <-c.ctx.Done():
		}
		c.again(calls)
	})
}

// again queues calls again that Redis has not executed. The caller of again holds them.
func (c *Client) again(calls []*pending) {
	for _, p := range calls {
		if p.asking {
			c.redirect(p, p.queue.Load().addr)
			continue
		}
		p.moved, p.asked = false, false
		c.dispatch(p)
	}
}

// queueLocked returns the queue of the server at addr, and makes it if there is none. It returns
// nil after Close.
func (c *Client) queueLocked(addr string) *queue {
	if c.queues == nil {
		return nil
	}
	q := c.queues[addr]
	if q == nil {
		q = newQueue(c.ctx, addr, &c.options, c.topology.wake)
		q.hire = func() { c.workers.Go((&worker{queue: q, client: c}).run) }
		c.queues[addr] = q
		c.workers.Go((&watcher{queue: q, client: c}).run)
	}
	return q
}
