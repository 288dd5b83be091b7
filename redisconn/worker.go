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
	// connectPause is how long a worker rests after it could not connect, so that a server that refuses costs little.
	connectPause = 10 * time.Millisecond

	// retryPause is how long a call waits that the server could not take at this time.
	retryPause = 5 * time.Millisecond

	// maxLoads is how often in a row a call is sent again because of an unknown script. Twice needs a SCRIPT FLUSH in the
	// same instant.
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
			w.unreachable(err)
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
	w.addLinked(+1)
	w.silence.broken()
	return nil
}

func (w *worker) disconnect() {
	if w.link != nil {
		w.link.close()
		w.link = nil
		w.addLinked(-1)
	}
}

// unreachable refuses what is pending, unless other workers have a link and send it, and rests.
func (w *worker) unreachable(err error) {
	if w.addLinked(0) == 0 && w.ctx.Err() == nil {
		w.breakDown()
		w.failAll(err)
	}
	select {
	case <-time.After(connectPause):
	case <-w.ctx.Done():
	}
}

// send sends batch, whose calls the worker holds, and sees to it that each is answered or queued again.
func (w *worker) send(batch []*pending) {
	load := false
	for range maxLoads {
		if load {
			batch = due(batch)
		}
		if len(batch) == 0 {
			return
		}
		if w.link == nil { // it broke after some of the replies, or the server was demoted
			w.client.again(batch)
			return
		}
		batch = w.exchange(batch, load)
		load = true
	}
	for _, p := range batch {
		p.answer(nil, p.err)
	}
}

// due answers those of batch that it is too late to send, and returns the others, in the memory of batch.
func due(batch []*pending) []*pending {
	now := time.Now()
	return slices.DeleteFunc(batch, func(p *pending) bool {
		late := now.After(p.deadline)
		if late {
			p.answer(nil, ErrTimeout)
		}
		return late
	})
}

// exchange sends batch as one pipeline and deals with the replies. With load the scripts go before the calls. It returns
// those calls whose script Redis does not know.
func (w *worker) exchange(batch []*pending, load bool) (unknownScript []*pending) {
	ctx, server := context.Background(), w.link.server
	cmds := make([]redis.Cmder, 0, 2*len(batch))
	if load {
		cmds = appendScripts(cmds, batch)
	}
	runs := make([]*redis.Cmd, len(batch))
	for i, p := range batch {
		if p.asking {
			cmds = append(cmds, redis.NewStatusCmd(ctx, "asking"))
		}
		p.to.incarnation = server
		runs[i] = redis.NewCmd(ctx, p.args...)
		cmds = append(cmds, runs[i])
	}

	err := w.link.run(cmds)
	if err != nil {
		w.disconnect()
	}
	if errors.Is(err, errNotSent) {
		w.client.again(batch)
		return nil
	}
	if err != nil {
		w.breakDown()
	}
	return w.settle(batch, runs)
}

// settle deals with the replies to batch. It returns the calls whose script Redis does not know.
func (w *worker) settle(batch []*pending, runs []*redis.Cmd) (unknownScript []*pending) {
	var later []*pending
	replaced := false
	for i, p := range batch {
		reply, err := runs[i].Val(), runs[i].Err()
		if reply != nil {
			err = nil // go-redis gives all the error of a connection that broke halfway, but this reply had been read
		}
		switch v, to := classify(err); {
		case v == unknown:
			if err = fmt.Errorf("redisconn: %s: %w", w.addr, err); w.ctx.Err() != nil {
				err = ErrClosed // which is why the connection broke
			}
			p.answer(nil, err)
			continue
		case v == noScript:
			p.err = err
			unknownScript = append(unknownScript, p)
		case v == noMemory:
			w.memory.refused()
			p.run = p.to.id
			p.answer(nil, fmt.Errorf("%w: %w", ErrMemory, err))
		case (v == moved || v == ask) && w.client.options.Mode != Cluster:
			p.run = p.to.id
			p.answer(nil, fmt.Errorf("%w: %w", errNoCluster, err))
		case v == moved && !p.moved:
			p.moved, p.asking = true, false
			w.roleDoubts.Add(1)
			w.client.topology.wake()
			w.client.sendTo(addressFrom(to, w.addr), p)
		case v == ask && !p.asked:
			p.asked, p.asking = true, true
			w.client.sendTo(addressFrom(to, w.addr), p)
		case v == retryLater, v == demoted:
			later = append(later, p)
			if v == demoted {
				w.roleDoubts.Add(1)
				replaced = true
			}
			continue
		case errors.Is(err, redis.Nil):
			p.run = p.to.id
			p.answer(nil, nil)
		default:
			p.run = p.to.id
			p.answer(reply, err)
		}
		w.succeed()
	}
	if replaced {
		w.disconnect() // a new connection asks for the address again
	}
	if len(later) > 0 {
		w.breakDown()
		w.client.again(later)
	}
	return unknownScript
}

// appendScripts appends a SCRIPT LOAD for each script of batch.
func appendScripts(cmds []redis.Cmder, batch []*pending) []redis.Cmder {
	loaded := make(map[*redis.Script]bool)
	for _, p := range batch {
		if !loaded[p.script] {
			loaded[p.script] = true
			cmds = append(cmds, redis.NewStringCmd(context.Background(), "script", "load", sourceOf(p.script)))
		}
	}
	return cmds
}

// sourceOf returns the text of s, which only s itself can put into a command.
func sourceOf(s *redis.Script) string {
	var r reader
	s.Eval(context.Background(), &r, nil)
	return r.source
}

// A reader keeps the script that it is asked to run.
type reader struct {
	redis.Scripter
	source string
}

func (r *reader) Eval(ctx context.Context, script string, _ []string, _ ...any) *redis.Cmd {
	r.source = script
	return redis.NewCmd(ctx)
}
