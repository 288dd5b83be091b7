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
			w.cannotConnect(err)
			select {
			case <-time.After(connectPause):
			case <-w.ctx.Done():
			}
			continue
		}
		if p := w.takeProbe(); p != nil {
			p.result <- w.ask(p.thorough)
		}
		batch = w.take(batch[:0])
		w.send(batch)
		clear(batch)
	}
}

// cannotConnect opens the breaker, unless other workers hold a connection. A primary that only does
// not answer in time is silent, and that is for the watcher to say.
func (w *worker) cannotConnect(err error) {
	if w.ctx.Err() != nil {
		return
	}
	if w.linked.Load() > 0 {
		w.handOver()
		return
	}
	if p := w.takeProbe(); p != nil {
		p.result <- err
	}
	if late := net.Error(nil); !errors.As(err, &late) || !late.Timeout() {
		w.trip(err)
	}
}

// ask probes the primary. It fails unless that answers in time. A thorough probe also fails if the
// server says that it is no primary or that its cluster is down.
func (w *worker) ask(thorough bool) error {
	ctx := context.Background()
	ping := redis.NewStatusCmd(ctx, "ping")
	role := redis.NewStringCmd(ctx, "info", "replication")
	cluster := redis.NewStringCmd(ctx, "cluster", "info")
	cmds := []redis.Cmder{ping}
	if thorough && w.link.server != 0 { // else the user may not be allowed to
		cmds = append(cmds, role)
	}
	if thorough && w.client.options.Mode == Cluster {
		cmds = append(cmds, cluster)
	}
	took, err := w.runTimed(cmds)
	for errors.Is(err, errNotSent) {
		if err = w.connect(); err == nil {
			took, err = w.runTimed(cmds)
		}
	}
	switch {
	case err != nil:
		return err
	case ping.Err() != nil:
		return ping.Err()
	case infoField(role.Val(), "role") == "slave":
		w.disconnect() // a new connection looks up the address again
		return errReplica
	case infoField(cluster.Val(), "cluster_state") == "fail":
		return errDown
	}
	return w.slow(took)
}

// runTimed runs cmds on the link and returns how long that took. It disconnects if it fails.
func (w *worker) runTimed(cmds []redis.Cmder) (took time.Duration, err error) {
	began := time.Now()
	if err = w.link.run(cmds); err != nil {
		w.disconnect()
		return 0, err
	}
	took = time.Since(began)
	w.latency.Store(int64(took))
	w.answered()
	return took, nil
}

// slow returns errSlow if the primary has taken too long to answer.
func (w *worker) slow(took time.Duration) error {
	if took > w.client.options.Timeout+w.lag.allowance() {
		return errSlow
	}
	return nil
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
	w.answered()
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
	took, err := w.runTimed(cmds)
	if errors.Is(err, errNotSent) {
		w.client.retry(batch)
		return nil
	}
	if err == nil {
		err = cmp.Or(notReady(calls), w.slow(took))
	}
	if w.ctx.Err() == nil { // else that is why it failed
		w.count(err)
	}
	return w.handle(batch, calls)
}

// notReady returns the reply of a server that takes no calls for now, if there is one.
func notReady(calls []*redis.Cmd) error {
	for _, c := range calls {
		if class, _ := classify(c.Err()); class == unready || class == demoted {
			return c.Err()
		}
	}
	return nil
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
		case class == retryLater, class == unready, class == demoted:
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
	}
	if isReplica {
		w.roleDoubts.Add(1)
		w.disconnect() // a new connection looks up the address again
	}
	if len(later) > 0 {
		w.client.retry(later)
	}
	return unknownScript
}
