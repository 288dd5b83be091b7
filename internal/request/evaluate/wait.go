package evaluate

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A mayWait is a take that may wait for its turn.
type mayWait struct {
	index   int // in Evaluation.takes
	zone    *usage.Zone
	wait    time.Duration // from when the request has come
	entered bool          // it counts among those that wait
	full    bool          // too many wait
	breach  bool          // the first denial of its window is the first one of the key
	waited  time.Duration // for a window
}

// waitOf returns for how many µs the take of a charge may wait for its turn. In emergency mode,
// nobody waits. What reserves events waits for other reservations instead.
func (e *Evaluation) waitOf(c *zone.Charge) int64 {
	if c.Wait == 0 || c.Counts != nil || c.Policy.Rule == nil || e.state.emergency {
		return 0
	}
	return c.Policy.WaitFor(c.Wait, usage.MostOfKey)
}

// addWait lets the newest take of a charge wait for its turn, for up to us µs.
func (e *Evaluation) addWait(z *usage.Zone, c *zone.Charge, us int64) {
	last := len(e.takes) - 1
	e.takes[last].Wait = us
	e.mayWait = append(e.mayWait, mayWait{index: last, zone: z, wait: c.Wait})
}

// resumeAt makes now the instant of the decisions, because the request has waited until then. Its takes
// may wait for what is left.
func (e *Evaluation) resumeAt(now time.Time) {
	e.now = limiter.At(now)
	for i := range e.mayWait {
		w := &e.mayWait[i]
		k := &e.takes[w.index]
		k.Wait = min(k.Wait, e.leftOf(w.wait).Microseconds())
	}
}

// leftOf returns what is left of a wait. However many limits a request waits for, it waits no longer
// than each allows, from when it has come. In emergency mode, nobody waits.
func (e *Evaluation) leftOf(wait time.Duration) time.Duration {
	if e.state.emergency {
		return 0
	}
	return max(0, wait-time.Duration(e.now-e.arrived)*time.Microsecond)
}

// enterQueues counts the request among those that wait, before it is known whether it has to: a turn
// is never given up because too many wait. A take for which there is no room does not wait. Takes of
// one zone wait as one.
func (e *Evaluation) enterQueues() {
	for i := range e.mayWait {
		w := &e.mayWait[i]
		if i > 0 && e.mayWait[i-1].zone == w.zone {
			w.full = e.mayWait[i-1].full
		} else {
			w.entered = w.zone.Waits.Begin()
			w.full = !w.entered
		}
		if w.full {
			e.takes[w.index].Wait = 0
		}
	}
}

// leaveQueues ends what enterQueues has begun.
func (e *Evaluation) leaveQueues() {
	for i := range e.mayWait {
		if w := &e.mayWait[i]; w.entered {
			w.zone.Waits.End()
			w.entered = false
		}
	}
}

// hasEntered reports whether the request counts among those that wait in a zone.
func (e *Evaluation) hasEntered(z *usage.Zone) bool {
	return slices.ContainsFunc(e.mayWait, func(w mayWait) bool { return w.entered && w.zone == z })
}

// countFull counts a request that is denied and might have waited, were there room: once in a zone.
// One that something else rejects would not have waited.
func (e *Evaluation) countFull() {
	var counted *usage.Zone
	for i := range e.mayWait {
		if w := &e.mayWait[i]; w.full && !e.blocked && w.zone != counted && !e.takes[w.index].Decision.OK {
			w.zone.Waits.Full.Add(1)
			counted = w.zone
		}
	}
}

// takeAtRetry takes once more if windows have denied the request and admit it within the wait. now
// and failed are those of the first decision. It returns those of the last one.
func (e *Evaluation) takeAtRetry(now time.Time, failed error) (time.Time, error) {
	delay := e.untilRetry()
	if delay == 0 {
		return now, failed
	}
	if err := e.sleep(delay); err != nil {
		return now, err
	}
	for i := range e.mayWait {
		w := &e.mayWait[i]
		k := &e.takes[w.index]
		if !k.Decision.OK {
			w.waited, w.breach = delay, k.Decision.Breach
			e.handler.Store.DropDenial(k.Rule, k.Key)
		}
	}
	now = time.Now()
	e.resumeAt(now)
	if !e.renew(now) {
		return now, failed
	}
	failed = cmp.Or(e.takeFromStore(now), failed)
	for i := range e.mayWait {
		w := &e.mayWait[i]
		if d := &e.takes[w.index].Decision; w.breach && !d.OK {
			d.Breach = true // the store has told it before
		}
	}
	return now, failed
}

// untilRetry returns how long it is until the takes that are denied can succeed; 0: they must not
// wait for that. A bucket that denies a take has promised more than the take may wait for.
func (e *Evaluation) untilRetry() (delay time.Duration) {
	for i := range e.takes {
		k := &e.takes[i]
		d := &k.Decision
		if d.OK || k.Err != nil {
			continue
		}
		until := int64(d.RetryAt - d.At)
		if k.Rule.Algorithm.Kind == limiter.TokenBucket || d.RetryAt == limiter.Never || d.Source.WithoutStore() || until > k.Wait {
			return 0
		}
		delay = max(delay, time.Duration(until)*time.Microsecond)
	}
	return delay
}

// waitForTurn waits until the events are there that the takes were promised. If the client leaves
// before, it gives them back, and returns an error.
func (e *Evaluation) waitForTurn() error {
	delay := time.Duration(0)
	for i := range e.takes {
		if d := &e.takes[i].Decision; d.Turn != 0 {
			delay = max(delay, time.Duration(d.Turn-d.At)*time.Microsecond)
		}
	}
	if delay > 0 {
		if err := e.sleep(delay); err != nil {
			e.giveBackTurns()
			e.refundOthers()
			return err
		}
	}
	now, results := limiter.At(time.Now()), e.results()
	for i := range results {
		r := &results[i]
		if r.Decision.Turn != 0 {
			r.Waited += delay
		}
		if delay > 0 {
			r.Decision.At = now // what is told relative to the decision is so to now
		}
	}
	return nil
}

// noteWaits notes how long a request has waited that is admitted, once in each zone: for a permit, and
// then for events. results are at most two of each zone.
func noteWaits(results []response.Result) {
	for i := range results {
		r := &results[i]
		if i > 0 && r.Usage == results[i-1].Usage {
			continue
		}
		if i+1 < len(results) && r.Usage == results[i+1].Usage {
			r.Waited += results[i+1].Waited // the request counts where its rate does
		}
		if r.Waited > 0 {
			r.Usage.Waits.Waited.Add(r.Waited)
		}
	}
}

// giveBackTurns gives back what was promised to a client that has left.
func (e *Evaluation) giveBackTurns() {
	for i := range e.mayWait {
		w := &e.mayWait[i]
		k := &e.takes[w.index]
		if k.Decision.Turn == 0 {
			continue
		}
		back, err := e.handler.Store.GiveBack(context.WithoutCancel(e.HTTP.Context()), time.Now(), k)
		if back && err == nil {
			w.zone.Waits.GivenBack.Add(1)
		} else {
			w.zone.Waits.Lost.Add(1)
		}
	}
}

// refundOthers gives back what other takes have consumed for a client that has left: the request has
// not reached the next handler.
func (e *Evaluation) refundOthers() {
	for i := range e.takes {
		if k := &e.takes[i]; k.Decision.Turn == 0 {
			e.refund(k)
		}
	}
}

// sleep waits for d, and returns an error if the client leaves before.
func (e *Evaluation) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	ctx := e.HTTP.Context()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitedFor returns how long the take of an index has waited for a window.
func (e *Evaluation) waitedFor(index int) time.Duration {
	for i := range e.mayWait {
		if w := &e.mayWait[i]; w.index == index {
			return w.waited
		}
	}
	return 0
}
