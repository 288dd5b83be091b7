package evaluate

import (
	"cmp"
	"context"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// waiting is how the request may wait for the limit of a check.
type waiting struct {
	most    time.Duration // the longest wait, from when the request came; 0 if it must not wait
	forTurn bool          // the limit is a rate that may have the request wait for its turn
	entered bool          // the request counts among the requests that wait in the zone
	full    bool          // the request must not wait, because too many requests of the zone do
	breach  bool          // the denial before the wait was the first one of its key and window
	waited  time.Duration // how long the request has waited for a window
}

// waitOf returns for how many µs the take of a charge may wait for its turn. It returns 0 in emergency mode,
// in which nobody waits.
func (e *Evaluation) waitOf(charge *zone.Charge) int64 {
	if charge.Wait == 0 || e.state.emergency {
		return 0
	}
	return charge.Policy.WaitFor(charge.Wait, usage.MostOfKey)
}

// resumeAt makes now the instant of the decisions, because the request has waited until then. It shortens the
// waits of the takes to what is left of them.
func (e *Evaluation) resumeAt(now time.Time) {
	e.now = limiter.At(now)
	for i := range e.checks {
		if c := &e.checks[i]; c.wait.forTurn {
			c.take.Wait = min(c.take.Wait, e.leftOf(c.wait.most).Microseconds())
		}
	}
}

// leftOf returns what is left of a wait that began when the request came. A request that waits for several
// limits thus waits no longer than each of them allows. leftOf returns 0 in emergency mode, in which nobody
// waits.
func (e *Evaluation) leftOf(wait time.Duration) time.Duration {
	if e.state.emergency {
		return 0
	}
	return max(0, wait-time.Duration(e.now-e.arrived)*time.Microsecond)
}

// enterQueues counts the request among those that wait in its zones, before it is known whether it has to
// wait. Otherwise a turn that the store has promised would have to be given up if too many requests wait. A
// take for which there is no room does not wait. The takes of one zone count as one request.
func (e *Evaluation) enterQueues() {
	var last *check
	for i := range e.checks {
		c := &e.checks[i]
		if !c.wait.forTurn {
			continue
		}
		if last != nil && last.zone == c.zone {
			c.wait.full = last.wait.full
		} else {
			c.wait.entered = c.zone.Usage.Waits.Begin()
			c.wait.full = !c.wait.entered
		}
		if c.wait.full {
			c.take.Wait = 0
		}
		last = c
	}
}

// leaveQueues ends what enterQueues has begun.
func (e *Evaluation) leaveQueues() {
	for i := range e.checks {
		if c := &e.checks[i]; c.wait.entered {
			c.zone.Usage.Waits.End()
			c.wait.entered = false
		}
	}
}

// hasEntered reports whether the request counts among the requests that wait in a zone.
func (e *Evaluation) hasEntered(z *usage.ZoneCounters) bool {
	for i := range e.checks {
		if c := &e.checks[i]; c.wait.entered && c.zone.Usage == z {
			return true
		}
	}
	return false
}

// countFull counts a denied request, once in each zone in which it did not wait because too many requests
// did. It counts nothing if something else rejects the request, which then would not have waited anyway.
func (e *Evaluation) countFull() {
	var counted *zone.Zone
	for i := range e.checks {
		if c := &e.checks[i]; c.wait.full && !e.blocked && c.zone != counted && !c.take.Decision.OK {
			c.zone.Usage.Waits.Full.Add(1)
			counted = c.zone
		}
	}
}

// takeAtRetry takes once more if windows have denied the request and will admit it within its wait. now and
// failed are the instant and the error of the first decision. takeAtRetry returns the instant of the last
// decision, and its error, or failed if the last decision has no error.
func (e *Evaluation) takeAtRetry(now time.Time, failed error) (time.Time, error) {
	delay := e.untilRetry()
	if delay == 0 {
		return now, failed
	}
	if err := e.sleep(delay); err != nil {
		return now, err
	}
	for i := range e.checks {
		if c := &e.checks[i]; c.wait.forTurn && !c.take.Decision.OK {
			c.wait.waited, c.wait.breach = delay, c.take.Decision.Breach
			e.handler.Store.DropDenial(c.take.Rule, c.take.Key)
		}
	}
	now = time.Now()
	e.resumeAt(now)
	if !e.renew(now) {
		return now, failed
	}
	failed = cmp.Or(e.ask(e.checks, e.asking(e.blocked), now), failed)
	for i := range e.checks {
		if c := &e.checks[i]; c.wait.breach && !c.take.Decision.OK {
			c.take.Decision.Breach = true // the store has reported the breach before the wait
		}
	}
	return now, failed
}

// untilRetry returns how long it takes until all denied takes can succeed. It returns 0 if the request must
// not wait for that. It must not wait for a token bucket: a bucket denies a take only if its turn would come
// after the longest wait.
func (e *Evaluation) untilRetry() (delay time.Duration) {
	for i := range e.checks {
		k := &e.checks[i].take
		d := &k.Decision
		if k.Rule == nil || d.OK || k.Err != nil {
			continue
		}
		until := int64(d.RetryAt - d.At)
		if k.Rule.Algorithm.Kind.Promises() || d.RetryAt == limiter.Never || d.Source.WithoutStore() || until > k.Wait {
			return 0
		}
		delay = max(delay, time.Duration(until)*time.Microsecond)
	}
	return delay
}

// waitForTurn waits until the takes have the events that the store has promised them. If the client leaves
// before, waitForTurn gives back what all takes have consumed, and returns an error.
func (e *Evaluation) waitForTurn() error {
	delay := time.Duration(0)
	for i := range e.checks {
		if d := &e.checks[i].take.Decision; d.Turn != 0 {
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
	now := limiter.At(time.Now())
	for _, c := range e.decisive {
		d := &c.result.Decision
		if d.Turn != 0 {
			c.result.Waited += delay
		}
		if delay > 0 {
			d.At = now // responses tell waits from At on, and go out now
		}
	}
	return nil
}

// noteWaits notes how long an admitted request has waited, once in each zone: for a permit and for events
// together.
func (e *Evaluation) noteWaits() {
	for c, other := range e.eachZone {
		r := &c.result
		if other != nil {
			r.Waited += other.result.Waited // the result about the rate stands for the zone
		}
		if r.Waited > 0 {
			r.Usage.Waits.Waited.Add(r.Waited)
		}
	}
}

// giveBackTurns gives back the turns that were promised to a client that has left.
func (e *Evaluation) giveBackTurns() {
	for i := range e.checks {
		c := &e.checks[i]
		if c.take.Decision.Turn == 0 {
			continue
		}
		waits := &c.zone.Usage.Waits
		back, err := e.handler.Store.GiveBack(context.WithoutCancel(e.HTTP.Context()), time.Now(), &c.take)
		if back && err == nil {
			waits.GivenBack.Add(1)
		} else {
			waits.Lost.Add(1)
		}
	}
}

// refundOthers gives back what the takes without a turn have consumed for a client that has left: the request
// has not reached the next handler.
func (e *Evaluation) refundOthers() {
	for i := range e.checks {
		if c := &e.checks[i]; c.asksStore() && c.take.Decision.Turn == 0 {
			e.refund(c)
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
