package redisconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	redis "github.com/redis/go-redis/v9"
)

const (
	// watchIdle is the pause of a watcher while no call waits for the primary, and the time after
	// which it probes a primary that nobody has asked.
	watchIdle = 100 * time.Millisecond

	// watchBusy is the pause while calls wait for the primary, or while it fails.
	watchBusy = 25 * time.Millisecond

	// probePause is the time between two probes after a good one.
	probePause = 100 * time.Millisecond

	// silentTimeouts is how many timeouts a primary may be silent.
	silentTimeouts = 3

	// lagFactor is how many times as long as this process was late a primary may take in addition.
	lagFactor = 4
)

// A watcher finds out when the primary of a queue fails, and when it is back. It is the only user of
// its link.
type watcher struct {
	*queue
	client *Client
	link   *link // nil while not connected
	login  login

	nextProbe time.Time    // while the breaker is open
	told      BreakerState // to Options.OnBreaker
}

func newWatcher(q *queue, c *Client) *watcher {
	w := &watcher{queue: q, client: c, login: c.login()}
	w.login.timeout = c.options.Timeout
	return w
}

// run watches until the queue ends.
func (w *watcher) run() {
	defer w.disconnect()
	for {
		pause := watchBusy
		if w.breaker.admits() && w.since.Load() == 0 {
			pause = watchIdle
		}
		slept := time.Now()
		select {
		case <-time.After(pause):
		case <-w.ctx.Done():
			return
		}
		now := time.Now()
		w.lag.note(now.Sub(slept) - pause)
		w.attend(now)
		w.tell()
	}
}

// attend does what is due at now.
func (w *watcher) attend(now time.Time) {
	switch {
	case !w.breaker.admits():
		if !now.Before(w.nextProbe) {
			w.probeOpen(now)
		}
	case !w.answersWithin(silentTimeouts*w.client.options.Timeout + w.lag.allowance()):
		w.trip(errSilent)
	case w.idleFor(watchIdle):
		w.probeIdle()
	}
}

// probeIdle probes a primary that nobody has asked lately.
func (w *watcher) probeIdle() {
	w.asked()
	err := w.probe()
	var late net.Error
	switch {
	case w.ctx.Err() != nil:
	case err == nil:
		w.answered()
		w.breaker.count(nil)
	case errors.As(err, &late) && late.Timeout(): // it is silent, or this process is late: attend tells
	case errors.As(err, new(net.Error)), errors.Is(err, io.EOF):
		w.trip(err)
	default:
		w.reached()
		w.breaker.count(fmt.Errorf("%s: %w", w.addr, err))
	}
}

// probeOpen probes a primary whose breaker is open.
func (w *watcher) probeOpen(now time.Time) {
	err := w.probe()
	if w.ctx.Err() != nil {
		return
	}
	w.breaker.count(err)
	w.nextProbe = now.Add(probePause)
	switch {
	case err != nil:
		w.nextProbe = now.Add(w.client.options.Breaker.ProbeEvery)
	case w.breaker.admits():
		w.answered()
	}
}

// probe fails unless the primary answers in time, and says that it is one and ready.
func (w *watcher) probe() (err error) {
	if w.link != nil {
		if err = w.ask(); !errors.Is(err, errNotSent) {
			return err
		}
	}
	if w.link, err = connect(w.ctx, w.addr, w.login); err != nil {
		w.link = nil
		return err
	}
	return w.ask()
}

// ask is probe over the link, which it closes if that is of no more use.
func (w *watcher) ask() error {
	ctx, began := context.Background(), time.Now()
	ping := redis.NewStatusCmd(ctx, "ping")
	role := redis.NewStringCmd(ctx, "info", "replication") // the user may not be allowed to
	cmds := []redis.Cmder{ping, role}
	cluster := redis.NewStringCmd(ctx, "cluster", "info")
	if w.client.options.Mode == Cluster {
		cmds = append(cmds, cluster)
	}
	if err := w.link.run(cmds); err != nil {
		w.disconnect()
		return err
	}
	took := time.Since(began)
	w.latency.Store(int64(took))
	switch {
	case ping.Err() != nil:
		return ping.Err()
	case infoField(role.Val(), "role") == "slave":
		w.disconnect() // the name may lead to another server soon
		return errors.New("the server is a replica")
	case strings.Contains(cluster.Val(), "cluster_state:fail"):
		return errors.New("the cluster is down")
	case took > w.client.options.Timeout+w.lag.allowance():
		return errSlow
	}
	return nil
}

func (w *watcher) disconnect() {
	if w.link != nil {
		w.link.close()
		w.link = nil
	}
}

// tell tells the client's owner of a new state.
func (w *watcher) tell() {
	if now := w.status(); now.State != w.told {
		w.told = now.State
		w.client.options.OnBreaker(now)
	}
}

// trip opens the breaker, and answers what is queued.
func (q *queue) trip(err error) {
	q.breaker.trip(fmt.Errorf("%s: %w", q.addr, err))
	q.fail()
	if !q.breaker.admits() {
		q.failAll(q.breaker.err())
	}
}

// status returns the breaker of the primary.
func (q *queue) status() Breaker {
	b := Breaker{Addr: q.addr, State: q.breaker.current(), Latency: time.Duration(q.latency.Load())}
	if b.State != Closed {
		b.Err = q.breaker.err()
	}
	return b
}

// Breakers returns the breakers of all primaries that are known.
func (c *Client) Breakers() []Breaker {
	t := c.table.Load()
	all := make([]Breaker, len(t.queues))
	for i, q := range t.queues {
		all[i] = q.status()
	}
	return all
}

// A lag is how late this process is: how much later than asked for it goes on after a pause. What
// the process does too late looks like a slow primary, and a client may cause it. So a primary gets
// more time while the process is late.
type lag struct{ longest atomic.Int64 } // in ns, of the newest pauses

// note adds the lateness of a pause. An old one counts for less with each pause.
func (l *lag) note(late time.Duration) {
	l.longest.Store(max(int64(late), l.longest.Load()*7/8))
}

// allowance returns how much longer than usual a primary may take.
func (l *lag) allowance() time.Duration { return lagFactor * time.Duration(l.longest.Load()) }
