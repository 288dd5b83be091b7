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
	share *concurrency.Permit // of the client's address; nil: it needs none
	zone  *usage.Zone         // nil: the request is explained or has released it, and holds nothing
	rule  uint32              // its ID
	key   uint64              // its hash
	hold  zone.Hold
	until time.Time // at which it is released in any case; zero: at the end of the response
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

// A concurrentKey is the key of a limit of requests at once, and how long the request may wait for its
// turn, from when it has come.
type concurrentKey struct {
	key  []byte
	wait time.Duration
	hold zone.Hold
}

// addConcurrent adds a limit of requests at once, and reports false if the request holds a permit of it.
func (e *Evaluation) addConcurrent(found *zone.Reading, c *zone.Charge) bool {
	switch {
	case e.holdsPermit(c.Policy.Concurrent, found.Key):
		return false
	case found.DryRun:
		e.addDryRun(found, c)
	default:
		found.Describe(c, e.addResult())
		e.concurrentKeys = append(e.concurrentKeys, concurrentKey{found.Key, c.Wait, found.Zone.Hold})
	}
	return true
}

// acquirePermits decides the limits of requests at once. If one denies the request, or the takes are
// only asked for, they consume nothing. It returns the first error of those that the store could not
// decide, and the instant of the decisions, which is now unless the request has waited for its turn.
func (e *Evaluation) acquirePermits(now time.Time) (_ time.Time, failed error) {
	keys, results := e.concurrentKeys, e.results()
	for i := range results {
		r := &results[i]
		if !r.IsConcurrent() {
			continue
		}
		at, err := e.acquirePermit(r, keys[0], now)
		if now, keys = at, keys[1:]; !r.Decision.OK {
			e.blocked = true
		}
		if failed == nil {
			failed = err
		}
	}
	return now, failed
}

// acquirePermit decides a limit of requests at once, and keeps the permit. It acquires none if the
// request is rejected anyway, or explained. It returns the instant of the decision, like acquirePermits.
func (e *Evaluation) acquirePermit(r *response.Result, k concurrentKey, now time.Time) (_ time.Time, err error) {
	var decision limiter.Decision
	store, rule, key := e.handler.Store, r.Policy.Concurrent, k.key
	held := heldPermit{rule: rule.ID, key: maphash.Bytes(chargeSeed, key), hold: k.hold}
	share := e.shareKey(r, key)
	switch {
	case e.previews:
		if share != nil {
			decision, err = store.PreviewPermit(e.HTTP.Context(), now, r.Policy.Share().Concurrent, share)
		}
		if share != nil && err == nil && !decision.OK {
			r.Policy = r.Policy.Share()
			break
		}
		decision, err = store.PreviewPermit(e.HTTP.Context(), now, rule, key)
		if left := e.leftOf(k.wait); err == nil && !decision.OK && e.mayQueue(now, left) {
			decision.OK, decision.Turn = true, decision.At+limiter.Instant(left.Microseconds()) // at the latest
		}
	case e.blocked:
		decision = store.PeekPermit(now, rule, key)
	default:
		if share != nil {
			whole := r.Policy
			r.Policy = whole.Share()
			var shared concurrency.Permit
			if shared, decision, now, err = e.acquireOrWait(r, share, k.wait, now); !decision.OK {
				break
			}
			r.Policy, held.share = whole, &shared
		}
		var failed error
		held.Permit, decision, now, failed = e.acquireOrWait(r, key, k.wait, now)
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
	if r.Decision.OK && (held.zone != nil || e.previews) {
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
	if len(e.takes) > 0 && e.handler.Store.Peek(e.HTTP.Context(), now, e.takes) != nil {
		return false
	}
	for i := range e.takes {
		k := &e.takes[i]
		d := &k.Decision
		until := d.RetryAt - d.At
		if k.Rule.Algorithm.Kind == limiter.TokenBucket {
			until += limiter.Instant(k.Wait) // a bucket promises its events so long before it has them
		}
		if !d.OK && (d.RetryAt == limiter.Never || until > limiter.Instant(wait.Microseconds())) {
			return false
		}
	}
	return true
}

// decisiveOf returns the first result or, if the next is about requests at once in the same zone and
// decides a rejection, that one. A request counts once in a zone.
func decisiveOf(results []response.Result) *response.Result {
	rate := &results[0]
	if len(results) == 1 || results[1].Usage != rate.Usage {
		return rate
	}
	if c := &results[1]; !c.Decision.OK && c.Decides(rate) {
		return c
	}
	return rate
}
