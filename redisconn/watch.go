package redisconn

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

const (
	// watchIdle is the pause of a watcher while no call waits for the primary, and the time after
	// which it probes a primary that has answered nothing lately.
	watchIdle = 100 * time.Millisecond

	// watchBusy is the pause of a watcher while something waits for the primary, or while the breaker
	// is not closed or the newest probe has failed.
	watchBusy = 25 * time.Millisecond

	// probePause is the time between two probes of a primary that gets no calls, after a good one.
	probePause = 100 * time.Millisecond

	// silentTimeouts is for how many times Options.Timeout a primary may be silent.
	silentTimeouts = 3

	// lagFactor is how much more time a primary gets for each unit of time by which this process is
	// late. It is above 1 because a goroutine that waits for a reply may have to wait for a processor
	// several times.
	lagFactor = 4

	// punctual is how late a pause may end in a process that is not late: timers are not exact.
	punctual = time.Millisecond
)

var (
	errSilent = errors.New("the primary is silent")
	errSlow   = errors.New("the primary answers too slowly")
)

// A watcher finds out when the primary of a queue fails, and when it is back. It sends nothing
// itself. Workers send its probes, so that a probe finds what calls would find.
type watcher struct {
	*queue
	client *Client

	open      bool         // whether the breaker was open when the watcher looked last
	probe     *probe       // the probe under way; nil if there is none
	again     bool         // whether the newest probe of a primary that gets calls failed
	nextProbe time.Time    // when the next probe is due while the breaker is open
	reported  BreakerState // the state that Options.OnBreaker was told last
}

// run watches until the queue ends.
func (w *watcher) run() {
	for {
		pause := watchBusy
		if !w.open && !w.again && w.since.Load() == 0 {
			pause = watchIdle
		}
		var result chan error
		if w.probe != nil {
			result = w.probe.result
		}
		timer := time.NewTimer(pause)
		w.lag.expect(time.Now().Add(pause))
		select {
		case <-timer.C:
			runtime.Gosched() // a timer is served before the goroutines that wait for a processor
		case err := <-result:
			w.probed(err)
		case <-w.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		now := time.Now()
		w.lag.note(now)
		w.attend(now)
		w.shrink(now)
		w.report()
	}
}

// attend does what is due at now.
func (w *watcher) attend(now time.Time) {
	before := w.open
	w.open = !w.breaker.admits()
	switch {
	case w.open && !before:
		w.probe, w.again, w.nextProbe = nil, false, now.Add(w.client.options.Breaker.ProbeEvery)
		w.request(nil)
		w.reconnect()
	case w.open:
		if w.probe == nil && !now.Before(w.nextProbe) {
			w.startProbe(true)
		}
	case w.silentFor(silentTimeouts*w.client.options.Timeout + w.lag.allowance()):
		w.trip(errSilent)
	case w.probe == nil && (w.again || w.idleFor(watchIdle)):
		w.startProbe(false)
	}
}

func (w *watcher) startProbe(thorough bool) {
	w.probe = &probe{thorough, make(chan error, 1)}
	w.request(w.probe)
}

// probed takes the result of the probe under way.
func (w *watcher) probed(err error) {
	thorough := w.probe.thorough
	w.probe = nil
	if !thorough {
		w.again = err != nil
		w.count(err)
		return
	}
	w.breaker.probed(w.named(err))
	w.nextProbe = time.Now().Add(probePause)
	if err != nil {
		w.nextProbe = time.Now().Add(w.client.options.Breaker.ProbeEvery)
	}
}

// report calls OnBreaker if the state of the breaker has changed since the last report.
func (w *watcher) report() {
	now := w.status()
	if now.State == Closed && w.reported == Closed {
		return
	}
	if !slices.Contains(w.client.table.Load().queues, w.queue) {
		now = Breaker{Addr: w.addr, Replaced: true}
		if successor := w.successor.Load(); successor != nil {
			now.Successor = *successor
		}
	}
	if now.State != w.reported {
		w.reported = now.State
		w.client.options.OnBreaker(now)
	}
}

// count counts the result of a pipeline or a probe. If that opens the breaker, it answers all queued
// calls.
func (q *queue) count(err error) {
	q.breaker.count(q.named(err))
	if !q.breaker.admits() {
		q.failAll(q.breaker.err())
	}
}

// trip opens the breaker because the primary is gone, and answers all queued calls.
func (q *queue) trip(err error) {
	q.breaker.trip(q.named(err))
	q.failAll(q.breaker.err())
}

// named returns err with the address of the primary. It returns nil if err is nil.
func (q *queue) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", q.addr, err)
}

// status returns the breaker of the primary.
func (q *queue) status() Breaker {
	b := Breaker{Addr: q.addr, State: q.breaker.current(), Latency: time.Duration(q.latency.Load())}
	if b.State != Closed {
		b.Err = q.breaker.err()
	}
	return b
}

// A lag is how late this process is: by how much a pause of a watcher ends later than asked for. A late
// process makes its primaries look slow, and clients may cause that by their load. So a primary gets
// more time while the process is late.
type lag struct {
	began   time.Time
	due     atomic.Int64 // end of the pause under way, in ns since began; 0 if there is none
	longest atomic.Int64 // the longest delay of the newest pauses, in ns
}

// expect begins a pause.
func (l *lag) expect(end time.Time) { l.due.Store(int64(end.Sub(l.began))) }

// note ends the pause at now. The delay of an old pause counts for an eighth less with each new pause.
func (l *lag) note(now time.Time) {
	late := now.Sub(l.began) - time.Duration(l.due.Swap(0))
	l.longest.Store(max(int64(late), l.longest.Load()*7/8))
}

// Lag returns how late this process is at present in dealing with what has arrived, and 0 while it
// is punctual. A reply may be that old when it is read.
func (c *Client) Lag() (most time.Duration) {
	for _, q := range c.table.Load().queues {
		most = max(most, q.lag.allowance())
	}
	if most < lagFactor*punctual {
		return 0
	}
	return most
}

// allowance returns how much longer than usual a primary may take.
func (l *lag) allowance() time.Duration {
	longest := l.longest.Load()
	if due := l.due.Load(); due > 0 {
		longest = max(longest, int64(time.Since(l.began))-due)
	}
	return lagFactor * time.Duration(longest)
}
