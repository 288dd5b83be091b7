package evaluate

import (
	"cmp"
	"hash/maphash"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// A heldPermit is a permit of a request in flight. A request that passes a zone several times, in
// several handlers, holds one for each count.
type heldPermit struct {
	concurrency.Permit
	share *concurrency.Permit // of the client's address; nil if it needs none
	zone  *usage.Zone         // nil if the request is explained or has released it, and holds nothing
	rule  uint32              // its ID
	key   uint64              // its hash
	hold  zone.Hold
	until time.Time // at which it is released in any case; zero if that is the end of the response
}

// release releases the permit, once.
func (p *heldPermit) release(now time.Time) {
	if p.zone == nil {
		return
	}
	p.Release(now)
	if p.share != nil {
		p.share.Release(now)
	}
	p.zone.InFlight.Add(-1)
	p.zone = nil
}

// holdsPermit reports whether the request holds a permit of a count.
func (e *Evaluation) holdsPermit(r *concurrency.Rule, key []byte) bool {
	if len(e.state.permits) == 0 {
		return false // only timers change elements meanwhile, and neither rule nor key
	}
	hash := maphash.Bytes(chargeSeed, key)
	for i := range e.state.permits {
		if p := &e.state.permits[i]; p.rule == r.ID && p.key == hash {
			return true
		}
	}
	return false
}

// addConcurrent adds a limit of requests at once, and reports false if the request holds a permit of it.
func (e *Evaluation) addConcurrent(found *zone.Reading, charge *zone.Charge) bool {
	switch {
	case e.holdsPermit(charge.Policy.Concurrent, found.Key):
		return false
	case found.DryRun:
		e.add(&e.dryRuns, found, charge)
	default:
		e.addEnforced(found, charge)
	}
	return true
}

// acquirePermits decides the limits of requests at once. If one denies the request, the takes consume
// nothing. It returns the first error of those that the store could not decide, and the instant of the
// decisions, which is now unless the request has waited for its turn.
func (e *Evaluation) acquirePermits(now time.Time) (_ time.Time, failed error) {
	for i := range e.checks {
		c := &e.checks[i]
		if !c.result.IsConcurrent() {
			continue
		}
		at, err := e.acquirePermit(c, e.asking(e.blocked), now)
		if now = at; !c.result.Decision.OK {
			e.blocked = true
		}
		if failed == nil {
			failed = err
		}
	}
	return now, failed
}

// acquirePermit decides a limit of requests at once, and keeps the permit. It returns the instant of the
// decision, like acquirePermits.
func (e *Evaluation) acquirePermit(c *check, how asking, now time.Time) (_ time.Time, err error) {
	var decision limiter.Decision
	r, key, store := &c.result, c.take.Key, e.handler.Store
	rule := r.Policy.Concurrent
	held := heldPermit{rule: rule.ID, key: maphash.Bytes(chargeSeed, key), hold: c.hold}
	share := e.shareKey(r, key)
	switch how {
	case previewing:
		if share != nil {
			decision, err = store.PreviewPermit(e.HTTP.Context(), now, r.Policy.Share().Concurrent, share)
		}
		if share != nil && err == nil && !decision.OK {
			r.Policy = r.Policy.Share()
			break
		}
		decision, err = store.PreviewPermit(e.HTTP.Context(), now, rule, key)
		if left := e.leftOf(c.wait.most); err == nil && !decision.OK && e.mayQueue(now, left) {
			decision.OK, decision.Turn = true, decision.At+limiter.Instant(left.Microseconds()) // at the latest
		}
	case peeking:
		decision = store.PeekPermit(now, rule, key)
	default:
		if share != nil {
			whole := r.Policy
			r.Policy = whole.Share()
			var shared concurrency.Permit
			if shared, decision, now, err = e.acquireOrWait(r, share, c.wait.most, now); !decision.OK {
				break
			}
			r.Policy, held.share = whole, &shared
		}
		var failed error
		held.Permit, decision, now, failed = e.acquireOrWait(r, key, c.wait.most, now)
		if err = cmp.Or(failed, err); !decision.OK && held.share != nil {
			held.share.Release(now)
		}
		held.zone = r.Usage
	}
	r.DecideConcurrent(decision, err, e.now)
	r.Waited = held.Waited()
	if held.share != nil {
		r.Waited += held.share.Waited()
	}
	if r.Decision.OK && (held.zone != nil || how == previewing) {
		e.state.addPermit(held)
	}
	return now, err
}

// acquireOrWait acquires a permit of a key, and has the request wait for its turn if it may. It returns
// the instant of the decision.
func (e *Evaluation) acquireOrWait(r *response.Result, key []byte, wait time.Duration, now time.Time) (
	p concurrency.Permit, d limiter.Decision, _ time.Time, err error,
) {
	p, d, err = e.handler.Store.Acquire(e.HTTP.Context(), now, r.Policy.Concurrent, key)
	if left := e.leftOf(wait); err == nil && !d.OK && e.mayQueue(now, left) {
		p, d, err = e.acquireInTurn(r, key, left, d)
		if p.Waited() > 0 || !d.OK {
			now = time.Now()
			e.resumeAt(now)
		}
	}
	return p, d, now, err
}

// acquireInTurn has a request wait for a permit that was denied one at once, if there is room.
func (e *Evaluation) acquireInTurn(r *response.Result, key []byte, wait time.Duration, denied limiter.Decision) (
	p concurrency.Permit, d limiter.Decision, err error,
) {
	waits := &r.Usage.Waits
	if !e.hasEntered(r.Usage) {
		if !waits.Begin() {
			waits.Full.Add(1)
			return p, denied, nil
		}
		defer waits.End()
	}
	began := time.Now()
	p, d, err = e.handler.Store.AcquireInTurn(e.HTTP.Context(), began, r.Policy.Concurrent, key, wait)
	if err == nil && !d.OK {
		d.Breach = d.Breach || denied.Breach // the store tells it once
		if time.Since(began) < wait {
			waits.Full.Add(1)
		}
	}
	return p, d, err
}

// mayQueue reports whether a request above a limit of requests at once may wait for its turn: not if a
// rate would reject it after that.
func (e *Evaluation) mayQueue(now time.Time, wait time.Duration) bool {
	if wait <= 0 {
		return false
	}
	if e.ask(e.checks, peeking, now) != nil {
		return false
	}
	for i := range e.checks {
		k := &e.checks[i].take
		if k.Rule == nil || k.Decision.OK {
			continue
		}
		until := k.Decision.RetryAt - k.Decision.At
		if k.Rule.Algorithm.Kind == limiter.TokenBucket {
			until += limiter.Instant(k.Wait) // a bucket promises its events so long before it has them
		}
		if k.Decision.RetryAt == limiter.Never || until > limiter.Instant(wait.Microseconds()) {
			return false
		}
	}
	return true
}
