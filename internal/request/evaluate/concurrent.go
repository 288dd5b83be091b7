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
	share *concurrency.Permit // the permit for the client's address; nil if the address needs none
	zone  *usage.ZoneCounters // nil if the permit is released, or if the request is explained and holds nothing
	rule  uint32              // the ID of the rule
	key   uint64              // the hash of the key
	hold  zone.Hold
	until time.Time // when a timer releases the permit; zero if only the end of the response does
}

// release releases the permit, unless it has been released.
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

// holdsPermit reports whether the request holds a permit of a count. It does not lock state.held, because
// only timers change permits meanwhile, and they change neither rule nor key.
func (e *Evaluation) holdsPermit(r *concurrency.Rule, key []byte) bool {
	if len(e.state.permits) == 0 {
		return false
	}
	hash := maphash.Bytes(chargeSeed, key)
	for i := range e.state.permits {
		if p := &e.state.permits[i]; p.rule == r.ID && p.key == hash {
			return true
		}
	}
	return false
}

// addConcurrent adds the check of a limit of requests at once. It adds nothing and returns false if the
// request already holds a permit of that limit.
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

// acquirePermits decides the limits of requests at once. If one denies the request, the takes of rates
// consume nothing. It returns the instant of the decisions, which is now unless the request has waited for
// its turn, and the first error of the store.
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
// decision, which is now unless the request has waited for its turn.
func (e *Evaluation) acquirePermit(c *check, how asking, now time.Time) (_ time.Time, err error) {
	var decision limiter.Decision
	r, key := &c.result, c.take.Key
	rule := r.Policy.Concurrent
	held := heldPermit{rule: rule.ID, key: maphash.Bytes(chargeSeed, key), hold: c.hold}
	switch how {
	case previewing:
		decision, err = e.previewPermit(c, now)
	case peeking:
		decision = e.handler.Store.PeekPermit(now, rule, key)
	default:
		decision, now, err = e.takePermit(c, &held, now)
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

// takePermit acquires the permit of a limit, after one of the share of the client's address. If the share
// is used up, the result has the policy of the share. takePermit returns the instant of the decision, too.
func (e *Evaluation) takePermit(c *check, held *heldPermit, now time.Time) (d limiter.Decision, _ time.Time, err error) {
	r, key := &c.result, c.take.Key
	if share := e.shareKey(r, key); share != nil {
		whole := r.Policy
		r.Policy = whole.Share()
		var shared concurrency.Permit
		if shared, d, now, err = e.acquireOrWait(r, share, c.wait.most, now); !d.OK {
			return d, now, err
		}
		r.Policy, held.share = whole, &shared
	}
	var failed error
	held.Permit, d, now, failed = e.acquireOrWait(r, key, c.wait.most, now)
	if !d.OK && held.share != nil {
		held.share.Release(now)
	}
	held.zone = r.Usage
	return d, now, cmp.Or(failed, err)
}

// previewPermit returns what takePermit would decide, and acquires nothing.
func (e *Evaluation) previewPermit(c *check, now time.Time) (d limiter.Decision, err error) {
	r, key, ctx, store := &c.result, c.take.Key, e.HTTP.Context(), e.handler.Store
	if share := e.shareKey(r, key); share != nil {
		if d, err = store.PreviewPermit(ctx, now, r.Policy.Share().Concurrent, share); err == nil && !d.OK {
			r.Policy = r.Policy.Share()
			return d, nil
		}
	}
	d, err = store.PreviewPermit(ctx, now, r.Policy.Concurrent, key)
	if left := e.leftOf(c.wait.most); err == nil && !d.OK && e.mayQueue(now, left) {
		d.OK, d.Turn = true, d.At+limiter.Instant(left.Microseconds()) // at the latest
	}
	return d, err
}

// acquireOrWait acquires a permit of a key. If there is none, the request waits for its turn, if it may.
// acquireOrWait returns the instant of the decision, too.
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

// acquireInTurn has a request wait for a permit, after the store has denied it one at once with the decision
// denied. It returns denied if too many requests of the zone wait already.
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
		d.Breach = d.Breach || denied.Breach // the store reports a breach once
		if time.Since(began) < wait {
			waits.Full.Add(1)
		}
	}
	return p, d, err
}

// mayQueue reports whether a request above a limit of requests at once may wait for its turn, for as long as
// wait. It must not if a rate would reject it after that.
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
		if k.Rule.Algorithm.Kind.Promises() {
			until += limiter.Instant(k.Wait) // a bucket promises events up to Wait before it has them
		}
		if k.Decision.RetryAt == limiter.Never || until > limiter.Instant(wait.Microseconds()) {
			return false
		}
	}
	return true
}
