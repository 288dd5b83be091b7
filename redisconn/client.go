package redisconn

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A Client carries calls to the primaries of one Redis. It may be used by many goroutines at a time.
type Client struct {
	options  Options
	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	workers  sync.WaitGroup // and what else runs in the background
	topology *topology
	early    *queue // what came before the nodes were asked for the first time; ended since then

	table  atomic.Pointer[table] // nil until it is known which primaries there are
	reason atomic.Pointer[error] // why the last load failed; nil when it did not

	mu     sync.Mutex
	queues map[string]*queue // by address; nil once closed
}

// New returns a client of the Redis that o describes. It dials nothing, and works with Redis down.
func New(o Options) *Client {
	c := &Client{options: o.withDefaults(), queues: make(map[string]*queue)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.topology = newTopology(c)
	c.early = newQueue(c.ctx, "", c.topology.wake)
	if c.topology.ask != nil {
		c.workers.Go(c.topology.run)
		return c
	}
	if len(o.Addresses) > 0 {
		_ = c.use(view{primaries: []slots{{0, slotCount - 1, o.Addresses[0]}}}) // there is room for one
	}
	c.early.close()
	return c
}

// Close ends all goroutines and connections. Callers that wait get ErrClosed, and so do calls that were started: all of
// them are done when Close returns. It must not be called by what a call runs when it is done.
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

// Do runs calls at the same time and sets the results of each. It returns when all are answered, and after
// Options.Timeout or when ctx ends at the latest: calls that are not answered by then have ErrTimeout, and those that were
// not written by then never will be.
func (c *Client) Do(ctx context.Context, calls ...*Call) {
	if len(calls) == 0 {
		return
	}
	deadline := time.Now().Add(c.options.Timeout)
	timer := time.NewTimer(c.options.Timeout)
	defer timer.Stop()
	pendings, w := make([]pending, len(calls)), newWaiter(len(calls))
	for i, call := range calls {
		p := &pendings[i]
		p.caller, p.deadline = w, deadline
		if err := p.init(call); err != nil {
			p.answer(nil, err)
			continue
		}
		p.own()
		c.dispatch(p)
	}
	err := c.wait(ctx, w.done, timer)
	for i, call := range calls {
		p := &pendings[i]
		if p.leave() {
			p.result(call)
			continue
		}
		call.Reply, call.Err, call.Incarnation = nil, err, 0
		if home := p.queue.Load(); home != nil && err == ErrTimeout {
			home.fail()
		}
	}
}

// wait returns when done is closed, or an error when what is waited with has ended before.
func (c *Client) wait(ctx context.Context, done <-chan struct{}, timer *time.Timer) error {
	select {
	case <-done:
		return nil
	case <-timer.C:
		return ErrTimeout
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrTimeout, context.Cause(ctx))
	case <-c.ctx.Done():
		return ErrClosed
	}
}

// Timeout returns how long a caller of Do waits at most.
func (c *Client) Timeout() time.Duration { return c.options.Timeout }

// dispatch queues p, which the caller of dispatch holds, at the primary of its slot, or answers it with why it cannot.
func (c *Client) dispatch(p *pending) {
	if err := c.queue(p); err != nil {
		p.answer(nil, err)
	}
}

// queue queues p at the primary of its slot.
func (c *Client) queue(p *pending) error {
	for range 2 {
		q := c.early
		if t := c.table.Load(); t != nil {
			q = t.queue(p.slot)
		}
		if q == nil {
			break
		}
		// What is early ends with the first table, and another queue only long after the table without it: a second look
		// finds the new table.
		if err := q.push(p); err != ErrClosed || c.ctx.Err() != nil {
			return err
		}
	}
	return c.noPrimary()
}

// admitEarly queues what came before the nodes were asked, now that they have been.
func (c *Client) admitEarly() {
	c.early.stopAccepting()
	for batch := c.early.take(nil); len(batch) > 0; batch = c.early.take(nil) {
		for _, p := range batch {
			c.dispatch(p)
		}
	}
}

func (c *Client) noPrimary() error {
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	c.topology.wake()
	if reason := c.reason.Load(); reason != nil {
		return fmt.Errorf("%w: %w", ErrNoPrimary, *reason)
	}
	return ErrNoPrimary
}

// sendTo queues p, which the caller of sendTo holds, at the server at addr, to which another one
// redirects it.
func (c *Client) sendTo(addr string, p *pending) {
	q, err := c.queueTo(addr)
	if err == nil {
		err = q.push(p)
	}
	if err != nil {
		p.answer(nil, err)
	}
}

// queueTo returns the queue of the server at addr, to which another one redirects calls.
func (c *Client) queueTo(addr string) (*queue, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues[addr] == nil && c.strangersLocked() >= maxStrangers {
		return nil, errStrangers
	}
	if q := c.queueAtLocked(addr); q != nil {
		return q, nil
	}
	return nil, ErrClosed
}

// again queues calls once more, in a moment: nothing was executed. Where to is looked up anew, but for a call that an ASK
// sent to a primary that is not yet the one of its slot.
func (c *Client) again(calls []*pending) {
	calls = append([]*pending(nil), calls...)
	c.workers.Go(func() { // not a timer, which Close could not wait for
		select {
		case <-time.After(retryPause):
		case <-c.ctx.Done():
		}
		for _, p := range calls {
			if p.asking {
				c.sendTo(p.queue.Load().addr, p)
				continue
			}
			p.moved, p.asked = false, false
			c.dispatch(p)
		}
	})
}

// queueAtLocked returns the queue of the primary at addr, which it makes if there is none. It returns nil after Close.
func (c *Client) queueAtLocked(addr string) *queue {
	if c.queues == nil {
		return nil
	}
	q := c.queues[addr]
	if q == nil {
		q = newQueue(c.ctx, addr, c.topology.wake)
		c.queues[addr] = q
		for range c.options.PoolSize {
			c.workers.Go((&worker{queue: q, client: c}).run)
		}
	}
	return q
}

func (c *Client) login() login {
	o := &c.options
	as := login{username: o.Username, password: o.Password, tls: o.TLS, timeout: detached, bounds: callBounds}
	if o.Mode != Cluster {
		as.db = o.DB
	}
	return as
}
