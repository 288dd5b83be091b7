package redisconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	redis "github.com/redis/go-redis/v9"
)

const (
	// connectPause is the pause after a failed connect, so that a server that refuses costs little.
	connectPause = 10 * time.Millisecond

	// retryPause is the pause before a call is sent again that the server was not ready for.
	retryPause = 5 * time.Millisecond

	// maxLoads is how often in a row a call is sent, each time but the first with its script. More
	// than twice needs a SCRIPT FLUSH in the same instant.
	maxLoads = 3
)

// A worker sends the calls of its queue, one pipeline at a time.
type worker struct {
	*queue
	client *Client
	link   *link // nil while not connected
}

// run works until the queue ends.
func (w *worker) run() {
	defer w.disconnect()
	batch := make([]*pending, 0, maxBatch)
	for w.await() {
		if err := w.connect(); err != nil {
			if w.linked.Load() == 0 && w.ctx.Err() == nil { // else other workers send the calls
				w.trip(err)
			}
			select {
			case <-time.After(connectPause):
			case <-w.ctx.Done():
			}
			continue
		}
		batch = w.take(batch[:0])
		w.send(batch)
		clear(batch)
	}
}

// connect makes sure of a link on which the server has answered lately.
func (w *worker) connect() error {
	doubts := w.roleDoubts.Load()
	if w.link != nil && w.link.doubtful(doubts) {
		if err := w.link.identify(doubts); err != nil {
			w.disconnect()
		}
	}
	if w.link != nil {
		return nil
	}
	l, err := connect(w.ctx, w.addr, w.client.login())
	if err == nil {
		if err = l.identify(doubts); err != nil {
			l.close()
		}
	}
	if err != nil {
		return fmt.Errorf("redisconn: %s cannot be used: %w", w.addr, err)
	}
	w.link = l
	w.linked.Add(1)
	w.reached()
	return nil
}

func (w *worker) disconnect() {
	if w.link != nil {
		w.link.close()
		w.link = nil
		w.linked.Add(-1)
	}
}

// send sends batch, whose calls the worker holds. Each of them is answered or queued again.
func (w *worker) send(batch []*pending) {
	for loads := 0; len(batch) > 0; loads++ {
		switch {
		case loads == maxLoads:
			for _, p := range batch {
				p.answer(nil, p.err)
			}
			return
		case w.link == nil: // it broke after some of the replies, or the server was demoted
			w.client.retry(batch)
			return
		}
		batch = w.exchange(batch, loads > 0)
	}
}

// exchange sends batch as one pipeline and handles the replies. With load it sends the scripts
// first. It returns the calls whose script Redis does not know.
func (w *worker) exchange(batch []*pending, load bool) (unknownScript []*pending) {
	ctx := context.Background()
	cmds := make([]redis.Cmder, 0, 2*len(batch))
	loaded := make(map[*Script]bool)
	for _, p := range batch {
		if load && !loaded[p.script] {
			loaded[p.script] = true
			cmds = append(cmds, redis.NewStringCmd(ctx, "script", "load", p.script.source))
		}
	}
	calls := make([]*redis.Cmd, len(batch))
	for i, p := range batch {
		if p.asking {
			cmds = append(cmds, redis.NewStatusCmd(ctx, "asking"))
		}
		p.server = w.link.server
		calls[i] = redis.NewCmd(ctx, p.args...)
		cmds = append(cmds, calls[i])
	}
	began := time.Now()
	err := w.link.run(cmds)
	if err != nil {
		w.disconnect()
	}
	if errors.Is(err, errNotSent) {
		w.client.retry(batch)
		return nil
	}
	if err == nil && time.Since(began) > w.client.options.Timeout+w.lag.allowance() {
		err = errSlow
	}
	w.count(err)
	return w.handle(batch, calls)
}

// handle handles the replies to batch. It returns the calls whose script Redis does not know.
func (w *worker) handle(batch []*pending, calls []*redis.Cmd) (unknownScript []*pending) {
	var later []*pending
	isReplica, cluster := false, w.client.options.Mode == Cluster
	for i, p := range batch {
		reply, err := calls[i].Val(), calls[i].Err()
		if reply != nil {
			err = nil // when a connection breaks, go-redis gives its error to all calls, even to answered ones
		}
		class, to := classify(err)
		switch {
		case class == unknown:
			if err = fmt.Errorf("redisconn: %s: %w", w.addr, err); w.ctx.Err() != nil {
				err = ErrClosed // which is why the connection broke
			}
			p.answer(nil, err)
			continue
		case class == retryLater, class == demoted:
			later, isReplica = append(later, p), isReplica || class == demoted
			continue
		case class == noScript && time.Now().After(p.deadline):
			p.answer(nil, ErrTimeout)
		case class == noScript:
			p.err = err
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
			case class != final && !cluster:
				err = fmt.Errorf("%w: %w", errNoCluster, err)
			case errors.Is(err, redis.Nil):
				err = nil
			}
			p.incarnation = p.server
			p.answer(reply, err)
		}
		w.answered()
	}
	if isReplica {
		w.roleDoubts.Add(1)
		w.disconnect() // a new connection looks up the address again
	}
	if len(later) > 0 {
		w.reached() // it is not silent
		w.count(calls[slices.Index(batch, later[0])].Err())
		w.client.retry(later)
	}
	return unknownScript
}

// count counts a pipeline that failed with err, or did not fail.
func (w *worker) count(err error) {
	if w.ctx.Err() != nil {
		return
	}
	if err == nil {
		w.breaker.count(nil)
		return
	}
	w.fail()
	w.breaker.count(fmt.Errorf("%s: %w", w.addr, err))
	if !w.breaker.admits() {
		w.failAll(w.breaker.err())
	}
}
