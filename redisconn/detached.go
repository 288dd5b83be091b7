package redisconn

import "time"

// A detachedCall is a call for which no caller waits.
type detachedCall struct {
	pending
	call   *Call
	done   func()
	silent *time.Timer // runs unanswered
}

// Start runs call without waiting for it. It is sent within a second or not at all, and ends within about another: by the
// time in which a connection must be answered.
//
// call and all that it refers to are the client's until done is called, exactly once, and then the caller's again, with
// the result set. After Close that is ErrClosed. done is called by the goroutine that has the answer, before Start
// returns if there is one by then, and with no lock of the client held. It must not block, as other calls wait for the same
// goroutine. It may start calls, but not without end: where they fail at once, they are done within it.
func (c *Client) Start(call *Call, done func()) {
	d := &detachedCall{call: call, done: done}
	d.caller, d.deadline = d, time.Now().Add(detached)
	d.silent = time.AfterFunc(c.options.Timeout, d.unanswered)
	if err := d.init(call); err != nil {
		d.answer(nil, err)
		return
	}
	c.dispatch(&d.pending)
}

// Send starts calls, one or more. The channel that it returns is closed when all are done.
func (c *Client) Send(calls ...*Call) (done <-chan struct{}) {
	w := newWaiter(len(calls))
	for _, call := range calls {
		c.Start(call, w.answered)
	}
	return w.done
}

// answered implements caller.
func (d *detachedCall) answered() {
	d.silent.Stop()
	d.result(d.call)
	d.done()
}

// unanswered notes that the primary is silent, as a caller would that waits.
func (d *detachedCall) unanswered() {
	if home := d.queue.Load(); home != nil && d.state.Load() != done {
		home.fail()
	}
}
