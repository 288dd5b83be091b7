package redisconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	redis "github.com/redis/go-redis/v9"
)

const (
	// connectPause is the pause after a failed connect, so that a server that refuses costs little.
	connectPause = 10 * time.Millisecond

	// retryPause is the pause before a call is sent again because the server was not ready for it.
	retryPause = 5 * time.Millisecond

	// maxFlushed is how often a call is sent again because Redis has not known its script. A second
	// time takes another SCRIPT FLUSH in the same instant.
	maxFlushed = 2
)

// A worker sends the calls of its queue over one connection, one pipeline at a time. It ends with
// the connection.
type worker struct {
	*queue
	client  *Client
	link    *link         // nil if it is not connected, or not any more
	scripts *knownScripts // the scripts that the server of link knows
	flushed uint64        // the flushes of the queue when the newest pipeline was made

	connected time.Time     // when the link was made
	took      time.Duration // time from the newest write to the reply; 0 if there was no reply
}

// A task is what a worker does next. One of its fields is set.
type task struct {
	batch    []*pending
	probe    *probe
	identify bool // ask the server who it is: another connection has found that it was not the primary
}

// run connects and works until the connection or the queue ends, or the connection is not needed.
func (w *worker) run() {
	defer w.leave()
	if err := w.connect(); err != nil {
		w.cannotConnect(err)
		select {
		case <-time.After(connectPause):
		case <-w.ctx.Done():
		}
		return
	}
	batch := make([]*pending, 0, maxBatch)
	for w.link != nil {
		todo, ok := w.next(batch[:0])
		switch {
		case !ok:
			w.disconnect()
			return
		case todo.probe != nil:
			w.answerProbe(todo.probe)
		case todo.identify:
			_ = w.ask(false) // ask disconnects if it fails
		default:
			w.send(todo.batch)
			clear(todo.batch)
		}
		w.endTask()
	}
}

// leave notes that w ends. The calls that wait may need another connection.
func (w *worker) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pool.workers--
	now := time.Now()
	w.advanceLocked(now)
	w.regrowLocked(now)
}

// endTask notes that w has done what next returned.
func (w *worker) endTask() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pool.end(w.took)
	w.regrowLocked(time.Now())
}

// next blocks until w has something to do, and takes it. Calls are appended to batch. It reports
// false when the connection is to be closed.
func (w *worker) next(batch []*pending) (todo task, ok bool) {
	for {
		todo, late, ok := w.await(batch)
		answerLate(late)
		if !ok || todo.identify || todo.probe != nil || len(todo.batch) > 0 {
			return todo, ok
		}
	}
}

// await is next, except that the task is empty if it finds only calls that it is too late to send. late
// are these calls.
func (w *worker) await(batch []*pending) (todo task, late []*pending, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		now := time.Now()
		calls := w.calls.Len() > 0 && w.pool.due(now)
		switch {
		case w.ended:
			return todo, nil, false
		case w.pool.dismisses(w.connected):
			return todo, nil, false
		case (calls || w.wanted != nil) && w.link.roleDoubts != w.roleDoubts.Load():
			todo.identify = true
		case calls:
			if todo.batch, late = w.takeLocked(batch); len(todo.batch) == 0 {
				return todo, late, true
			}
		case w.wanted != nil:
			todo.probe, w.wanted = w.wanted, nil
		default:
			w.pool.free++
			w.ready.Wait()
			w.pool.free--
			continue
		}
		w.pool.start(now)
		w.advanceLocked(now)
		return todo, late, true
	}
}

// cannotConnect opens the breaker, unless other workers hold a connection or err is a timeout: the
// watcher decides after how long a primary without answers is silent.
func (w *worker) cannotConnect(err error) {
	w.mu.Lock()
	others := w.pool.linked > 0
	if others {
		w.pool.refused = time.Now()
	}
	w.mu.Unlock()
	if w.ctx.Err() == nil {
		w.errors.note(err)
	}
	if w.ctx.Err() != nil || others {
		return
	}
	if p := w.takeProbe(); p != nil {
		p.result <- err
	}
	if late := net.Error(nil); !errors.As(err, &late) || !late.Timeout() {
		w.trip(err)
	}
}

// runTimed runs cmds on the link and notes how long the replies took. It calls written, if that is
// not nil, as soon as they are written. The question for the server's identity goes with them when
// it is due. It disconnects if it fails.
func (w *worker) runTimed(cmds []redis.Cmder, written func(at time.Time)) error {
	began, doubts := time.Now(), w.roleDoubts.Load()
	question := w.question(began)
	if question != nil {
		cmds = append([]redis.Cmder{question}, cmds...)
	}
	w.took = 0
	if err := w.link.run(cmds, written); err != nil {
		w.disconnect()
		return err
	}
	w.took = w.link.took
	w.latency.Store(int64(w.took))
	w.answered()
	if question != nil {
		w.learn(w.link, question, began, doubts)
	}
	w.link.roleDoubts = doubts
	return nil
}

// slow returns errSlow if the primary has taken too long to answer.
func (w *worker) slow() error {
	if w.took > w.client.options.Timeout+w.lag.allowance() {
		return errSlow
	}
	return nil
}

// connect makes a link on which the server has answered.
func (w *worker) connect() error {
	began, doubts := time.Now(), w.roleDoubts.Load()
	info := redis.NewStringCmd(context.Background(), "info", "server", "replication")
	l, err := connect(w.ctx, w.addr, w.client.login(), info)
	if err != nil {
		return fmt.Errorf("no connection: %w", err) // the caller adds the address
	}
	l.process, l.roleDoubts = infoField(info.Val(), "run_id"), doubts
	w.learn(l, info, began, doubts)
	w.answered()
	took := l.took
	if err := w.loadScripts(l, began); err != nil {
		l.close()
		return fmt.Errorf("no connection: %w", err)
	}
	w.link, w.connected, w.took = l, began, took
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pool.linked++
	w.pool.refused = time.Time{}
	w.pool.observe(took)
	w.regrowLocked(time.Now())
	return nil
}

func (w *worker) disconnect() {
	if w.link == nil {
		return
	}
	w.link.close()
	w.link = nil
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pool.linked--
}

// send sends batch, whose calls the worker holds, as one pipeline, after the scripts that the server
// may not know. Each call is answered or queued again.
func (w *worker) send(batch []*pending) {
	ctx := context.Background()
	w.flushed = w.flushes.Load()
	scripts := w.scripts.lacking(batch, w.flushed)
	w.client.scripts.add(scripts)
	cmds := make([]redis.Cmder, 0, len(scripts)+2*len(batch))
	for _, script := range scripts {
		cmds = append(cmds, script.load())
	}
	calls, server := make([]*redis.Cmd, len(batch)), w.server()
	for i, p := range batch {
		if p.asking {
			cmds = append(cmds, redis.NewStatusCmd(ctx, "asking"))
		}
		p.server = server
		calls[i] = redis.NewCmd(ctx, p.args...)
		cmds = append(cmds, calls[i])
	}
	err := w.runTimed(cmds, func(at time.Time) {
		for _, p := range batch {
			p.wrote(&at)
		}
	})
	if errors.Is(err, errNotSent) {
		w.client.again(batch)
		return
	}
	if err == nil {
		slow := w.slow()
		for range batch {
			w.errors.note(slow)
		}
		err = cmp.Or(notReady(calls), slow)
	}
	if w.ctx.Err() == nil { // else the end of the queue is why it failed
		w.count(err)
	}
	w.handle(batch, calls)
}

// notReady returns the first error that says that the server takes no calls for now, and nil if there
// is none.
func notReady(calls []*redis.Cmd) error {
	for _, c := range calls {
		if class, _ := classify(c.Err()); class == unready || class == demoted {
			return c.Err()
		}
	}
	return nil
}

// handle answers the calls of batch by their replies, or queues them again.
func (w *worker) handle(batch []*pending, calls []*redis.Cmd) {
	var later, unknownScript []*pending
	isReplica, cluster := false, w.client.options.Mode == Cluster
	for i, p := range batch {
		reply, err := calls[i].Val(), calls[i].Err()
		if reply != nil {
			err = nil // when a connection breaks, go-redis gives its error to all calls, even to answered ones
		}
		if w.ctx.Err() == nil { // else the end of the queue is why the connection broke
			w.errors.note(err)
		}
		class, to := classify(err)
		switch {
		case class == unknown:
			if err = fmt.Errorf("redisconn: %s: %w", w.addr, err); w.ctx.Err() != nil {
				err = ErrClosed // Close is why the connection broke
			}
			p.answer(nil, err)
			continue
		case class == retryLater, class == unready, class == demoted:
			later, isReplica = append(later, p), isReplica || class == demoted
			continue
		case class == noScript && (p.state.Load() == abandoned || time.Now().After(p.deadline)):
			p.answer(nil, ErrUnsent)
		case class == noScript && p.flushed < maxFlushed:
			p.flushed++
			p.deadline = p.deadline.Add(w.client.options.Timeout) // time for the second round trip
			unknownScript = append(unknownScript, p)
		case class == moved && cluster && !p.moved:
			p.moved, p.asking = true, false
			w.roleDoubts.Add(1)
			w.client.topology.wake()
			w.client.redirect(p, addressFrom(to, w.addr))
		case class == ask && cluster && !p.asked:
			p.asked, p.asking = true, true
			w.client.redirect(p, addressFrom(to, w.addr))
		default:
			switch {
			case class == noMemory:
				w.refused()
				err = fmt.Errorf("%w: %w", ErrMemory, err)
			case (class == moved || class == ask) && !cluster:
				err = fmt.Errorf("%w: %w", errNoCluster, err)
			case errors.Is(err, redis.Nil):
				err = nil
			}
			if class == final || class == noMemory {
				w.scripts.note(p.script, w.flushed)
			}
			p.incarnation = p.server
			p.answer(reply, err)
		}
	}
	if len(unknownScript) > 0 {
		w.flushes.CompareAndSwap(w.flushed, w.flushed+1)
		for _, p := range unknownScript {
			w.client.redirect(p, w.addr) // a worker sends it with what has been queued meanwhile
		}
	}
	if isReplica {
		w.roleDoubts.Add(1)
		w.disconnect() // a new connection looks up the address again
	}
	if len(later) > 0 {
		w.client.retry(later)
	}
}
