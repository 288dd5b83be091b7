// Package evaluate decides one request: it takes from all zones that apply, from every one of them or
// from none, and answers a request that is not admitted.
package evaluate

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// Decide takes from all zones that apply to the request: from every one of them or from none. There
// are none if the client's address is allowed, if emergency mode rejects the request, or if anything
// refuses it. A body that has to come may be waited for before: w is what the response is written to.
func (e *Evaluation) Decide(w http.ResponseWriter) error {
	defer e.translateClient()()
	exempt, denied, err := e.handler.Addresses.Check(e.HTTP, e.rules)
	switch {
	case err != nil:
		return err
	case exempt:
		e.reportExempt()
		return nil
	case denied:
		e.refused = refused{refusal: deniedAddress}
		return nil
	}
	if err := e.takeInEmergency(); err != nil || e.denied != nil {
		return err
	}
	for _, z := range e.zones() {
		if err := e.addTakes(z); err != nil || e.refused.refusal != nil {
			return err
		}
	}
	if e.holdsPlaces() {
		if err := e.awaitBody(w); err != nil || e.refused.refusal != nil {
			return err
		}
	}
	if len(e.adaptive) > 0 && e.isOverloaded() {
		return nil
	}
	if err := e.take(); err != nil {
		if len(e.adaptive) > 0 {
			e.releaseAdaptive()
		}
		return err
	}
	e.taken, e.takes = e.takes, e.taken[:0] // shadows have takes of their own
	if len(e.dryRuns) > 0 && !e.IsRejected() {
		e.takeDryRuns()
	}
	if len(e.comparisons) > 0 && e.refused.refusal == nil {
		e.takeComparisons()
	}
	if len(e.adaptive) > 0 && e.IsRejected() {
		e.releaseAdaptive()
	}
	return nil
}

// zones returns the zones that may apply to the request.
func (e *Evaluation) zones() []*zone.Zone {
	if e.handler.Index == nil {
		return e.handler.Zones
	}
	e.mayApply = e.handler.Index.Append(e.mayApply[:0], &e.Request)
	return e.mayApply
}

// IsRejected reports whether the request is not admitted: a zone denies it, or it is refused.
func (e *Evaluation) IsRejected() bool { return e.denied != nil || e.refused.refusal != nil }

// addTakes adds the takes from a zone, unless the zone does not apply to the request. There is one,
// unless the path may be read in several ways.
func (e *Evaluation) addTakes(z *zone.Zone) error {
	found := &e.reading
	applies, err := z.Read(&e.Request, e.rules, found)
	if !applies {
		return err
	}
	e.attachState()
	e.note(found)
	switch {
	case (err != nil || found.Refusal != nil) && found.DryRun:
		e.passDryRun(found, err)
		return nil
	case err != nil:
		return err
	case found.Refusal != nil:
		e.refused = refused{found.Refusal, &z.Zone, found.Template}
		return nil
	case found.Allowed:
		z.Usage.Allowed.Add(1)
		e.publish(report.Decision{Outcome: api.Allowed, Zone: z.Usage, Key: found.Template, Reason: allowedKey})
		return nil
	}
	if len(found.Charges)+len(found.Concurrent) > 0 {
		e.keys = append(e.keys, zoneKey{z.Usage, found.Key})
		e.noteKey(z.Usage, found.Template)
	}
	for i := range found.Charges {
		if !e.addCharge(found, &found.Charges[i]) {
			found.Compared = zone.Charge{} // it was compared before
		}
	}
	for i := range found.Concurrent {
		e.addConcurrent(found, &found.Concurrent[i])
	}
	if z.Adaptive != nil {
		e.addAdaptive(found)
	}
	if found.Compared.Policy != nil {
		e.addComparison(found)
	}
	return nil
}

// addCharge adds a take for a charge, and reports false if the request has been charged it before.
func (e *Evaluation) addCharge(found *zone.Reading, c *zone.Charge) bool {
	if c.Policy.Rule != nil {
		before := e.charged(found.Zone, c.Policy.Rule, found.Key)
		if c.Cost -= before; c.Cost <= 0 || c.Late != nil && before > 0 {
			return false
		}
	}
	e.addTake(found, c)
	return true
}

// addTake adds a take.
func (e *Evaluation) addTake(found *zone.Reading, c *zone.Charge) {
	if found.DryRun {
		e.addDryRun(found, c)
		return
	}
	if c.Policy.Block {
		e.blocked = true
	} else {
		e.takes = append(e.takes, limiter.Take{Rule: c.Policy.Rule, Key: found.Key, Cost: c.Cost, Client: (*client)(e.HTTP)})
		wait := e.waitOf(c)
		switch {
		case c.Late != nil:
			e.addReservedCharge(found, c)
		case c.Counts != nil:
			e.addReserved(c.Counts, c.Wait)
		case wait > 0:
			e.addWait(found.Zone.Usage, c, wait)
		}
	}
	found.Describe(c, e.addResult())
}

// addResult adds a result that nobody has decided yet.
func (e *Evaluation) addResult() *response.Result {
	r := e.state.Add()
	r.Settings = e.handler.Settings
	return r
}

// take has the store decide the takes, and sets denied if any zone rejects the request. It returns
// an error only if the client has gone meanwhile.
func (e *Evaluation) take() error {
	if len(e.results()) == 0 {
		return nil
	}
	if len(e.mayWait) > 0 && !e.blocked {
		defer e.leaveQueues() // also after a panic
		e.enterQueues()
	}
	now, failed, err := e.decideResults()
	if err != nil {
		return err
	}
	if e.refused.refusal != nil { // after a wait
		e.state.releasePermits(e.firstPermit)
		return nil
	}
	results := e.findDenied()
	// If another zone denies the request, a failure decides nothing. So it is not an outage.
	if len(e.takes)+len(e.concurrentKeys) > 0 && (failed == nil || e.denied == nil || e.denied.Failure != nil) {
		e.handler.Store.Note(now, failed)
	}
	if len(e.mayWait) > 0 {
		if e.denied != nil {
			e.countFull()
		} else if e.waitForTurn() != nil {
			e.state.releasePermits(e.firstPermit)
			return clientGoneError(e.HTTP.Context())
		}
	}
	if len(e.mayWait)+len(e.concurrentKeys) > 0 && e.denied == nil {
		noteWaits(results)
	}
	for i := range results {
		if i == 0 || results[i].Usage != results[i-1].Usage {
			e.count(decisiveOf(results[i:]), e.denied != nil)
		}
	}
	e.addCharges()
	if e.denied == nil {
		for _, r := range e.reserved {
			r.hold(e, &e.takes[r.index])
		}
		for _, r := range e.late {
			r.hold(e, &e.takes[r.index])
		}
	}
	return nil
}

// decideResults has the store decide the takes, and writes the decisions into the results. now is
// their instant, and failed the error of the store. err is that the client has gone meanwhile.
func (e *Evaluation) decideResults() (now time.Time, failed, err error) {
	now = e.Time()
	e.now = limiter.At(now)
	e.arrived = e.now
	e.noteOrigins()
	if len(e.concurrentKeys) > 0 {
		now, failed = e.acquirePermits(now)
	}
	switch {
	case (e.awaited || e.now != e.arrived) && !e.blocked && !e.renew(now):
	case len(e.reserved) == 0 || e.blocked || e.previews:
		failed = cmp.Or(e.takeFromStore(now), failed)
	default:
		var late error
		now, late = e.takeInTurn(now)
		e.resumeAt(now)
		failed = cmp.Or(late, failed)
	}
	if len(e.mayWait) > 0 && !e.IsRejected() && !e.blocked && !e.previews {
		now, failed = e.takeAtRetry(now, failed)
	}
	if failed != nil {
		if gone := clientGoneError(e.HTTP.Context()); gone != nil {
			e.state.releasePermits(e.firstPermit)
			return now, failed, gone
		}
	}
	e.timeDecision(now)
	e.writeResults()
	return now, failed, nil
}

// writeResults writes the decisions of the takes into the results.
func (e *Evaluation) writeResults() {
	results, takes := e.results(), e.takes
	for i := range results {
		switch r := &results[i]; {
		case r.IsConcurrent():
		case r.Policy.Block:
			r.Block(e.now)
		default:
			r.Decide(&takes[0], e.now)
			if len(e.mayWait) > 0 && r.Decision.OK {
				r.Waited = e.waitedFor(len(e.takes) - len(takes))
			}
			takes = takes[1:]
		}
	}
}

// findDenied leaves one result of each zone for its rate and one for requests at once, and sets denied
// if any of them rejects the request, which then holds no permits.
func (e *Evaluation) findDenied() []response.Result {
	results := e.state.Merge(e.first)
	for i := range results {
		if r := &results[i]; !r.Decision.OK && (e.denied == nil || r.Outweighs(e.denied)) {
			e.denied = r
		}
	}
	if e.denied != nil {
		e.state.releasePermits(e.firstPermit)
	}
	return results
}

// takeFromStore writes the decisions into the takes, and returns the first error of those that the
// store could not decide. Nothing is consumed if a rule rejects the request anyway.
func (e *Evaluation) takeFromStore(now time.Time) error {
	store := e.handler.Store
	switch {
	case len(e.takes) == 0:
		return nil
	case e.previews:
		return store.Preview(e.HTTP.Context(), now, e.takes)
	case e.blocked:
		return store.Peek(e.HTTP.Context(), now, e.takes)
	}
	return store.Take(e.HTTP.Context(), now, e.takes)
}

// clientGoneError returns the error of a request that ended while it waited for the store, else
// nil. The failure of its takes is no outage. Such a request must not go on: it would be admitted
// uncounted, and later handlers may act on it before they notice that the client has gone.
func clientGoneError(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return caddyhttp.Error(http.StatusGatewayTimeout, err)
	}
	return caddyhttp.Error(499, err) // the status that Caddy too logs if the client has gone
}

// Admit hands the request on, and sets the headers of its response. Then it checks what the zones
// have read against what the next handlers have set.
func (e *Evaluation) Admit(w http.ResponseWriter, next caddyhttp.Handler) (err error) {
	e.trace()
	if e.holdsPlaces() {
		w, next = e.atPaceOfClient(w, e.holdAfterCancel(next))
	}
	e.boundPermits()
	if len(e.adaptive) > 0 {
		e.measureLatency()
	}
	if e.plain {
		defer hideEncodings(e.HTTP)()
	}
	err = e.serveNext(w, next)
	e.checkCredentials()
	return err
}
