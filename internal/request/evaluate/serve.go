// Package evaluate decides requests. A request takes events from every zone that applies to it, or from none
// of them. The package answers a request that is not admitted.
//
// A request becomes a list of checks, one for each limit that applies to it: see check. What is peculiar to a
// kind of limit has a file of its own: requests at once in concurrent.go, the capacity of the upstream in
// adaptive.go, waits in wait.go, count_status in countstatus.go, charge in charge.go, and limits that reject
// no request in dryrun.go and comparison.go.
package evaluate

import (
	"context"
	"errors"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// Serve decides a request. It hands an admitted request to next, and answers any other.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e := h.Begin(r)
	err := e.decide(w)
	switch {
	case err != nil:
	case e.isRejected():
		e.refundEarlier()
		err = e.reject(w)
	default:
		err = e.admit(w, next)
	}
	e.Release()
	return err
}

// decide takes from all zones that apply to the request, or from none of them. It takes nothing if the
// client's address is allowed, if emergency mode rejects the request, or if anything refuses it. A request
// that needs a place among the requests at once takes it only after its body has come. w is what the response
// is written to.
func (e *Evaluation) decide(w http.ResponseWriter) error {
	defer e.translateClient()()
	if decided, err := e.checkAddress(); decided || err != nil {
		return err
	}
	if err := e.takeInEmergency(); err != nil || e.denied != nil {
		return err
	}
	if err := e.readZones(); err != nil || e.refused.refusal != nil {
		return err
	}
	if e.holdsPlaces() {
		if err := e.awaitBody(w); err != nil || e.refused.refusal != nil {
			return err
		}
	}
	if len(e.capacity) > 0 && e.isOverloaded() {
		return nil
	}
	if err := e.take(); err != nil {
		e.releaseAdaptive()
		return err
	}
	if len(e.dryRuns) > 0 && !e.isRejected() {
		e.takeDryRuns()
	}
	if len(e.comparisons) > 0 && e.refused.refusal == nil {
		e.takeComparisons()
	}
	if e.isRejected() {
		e.releaseAdaptive()
	}
	return nil
}

// isRejected reports whether the request is not admitted: a zone denies it, or it is refused.
func (e *Evaluation) isRejected() bool { return e.denied != nil || e.refused.refusal != nil }

// checkAddress reports whether the address of the client decides the request, whatever the zones say.
func (e *Evaluation) checkAddress() (decided bool, err error) {
	exempt, denied, err := e.handler.Addresses.Check(e.HTTP, e.rules)
	switch {
	case err != nil:
		return false, err
	case exempt:
		e.reportExempt()
	case denied:
		e.refused = refused{refusal: deniedAddress}
	}
	return exempt || denied, nil
}

// readZones adds the checks of all zones, up to the first zone that refuses the request.
func (e *Evaluation) readZones() error {
	for _, z := range e.zones() {
		if err := e.readZone(z); err != nil || e.refused.refusal != nil {
			return err
		}
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

// readZone adds the checks of a zone, unless the zone does not apply to the request.
func (e *Evaluation) readZone(z *zone.Zone) error {
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
		e.refused = refused{found.Refusal, &z.ZoneResponses, found.Template}
		return nil
	case found.Allowed:
		z.Usage.Allowed.Add(1)
		e.publish(report.Decision{Outcome: api.Allowed, Zone: z.Usage, Key: found.Template, Reason: allowedKey})
		return nil
	}
	if len(found.Charges)+len(found.Concurrent) > 0 {
		e.noteKey(z.Usage, found.Template)
	}
	for i := range found.Charges {
		if !e.addRate(found, &found.Charges[i]) {
			found.Compared = zone.Charge{} // an earlier handler has compared it
		}
	}
	for i := range found.Concurrent {
		e.addConcurrent(found, &found.Concurrent[i])
	}
	if z.Adaptive != nil {
		e.addCapacity(found)
	}
	if found.Compared.Policy != nil {
		e.addComparison(found)
	}
	return nil
}

// take decides the checks, and sets denied if any zone rejects the request. Otherwise the request waits for
// its turn, and the settlements of its checks begin. In both cases, the request is counted in its zones. take
// returns an error if the client has gone meanwhile.
func (e *Evaluation) take() error {
	if len(e.checks) == 0 {
		return nil
	}
	if e.mayWait && !e.blocked {
		defer e.leaveQueues() // also after a panic
		e.enterQueues()
	}
	now, failed, err := e.decideChecks()
	if err != nil {
		return err
	}
	if e.refused.refusal != nil { // after a wait
		e.state.releasePermits(e.firstPermit)
		return nil
	}
	e.findDenied()
	// If another zone denies the request, a failure of the store has decided nothing, and is noted as no
	// outage.
	if failed == nil || e.denied == nil || e.denied.Failure != nil {
		e.noteStore(now, failed)
	}
	if e.mayWait {
		if e.denied != nil {
			e.countFull()
		} else if e.waitForTurn() != nil {
			e.state.releasePermits(e.firstPermit)
			return clientGoneError(e.HTTP.Context())
		}
	}
	if e.denied == nil {
		e.noteWaits()
	}
	e.countDecisive()
	e.tellDecisive()
	if e.denied == nil {
		e.rememberCharges(e.checks)
		e.holdTaken(e.checks)
	}
	return nil
}

// clientGoneError returns the error that ends a request whose ctx has ended while it waited, and nil if ctx
// has not ended. Such a request must not go on: it would be admitted uncounted, and later handlers may act on
// it before they notice that the client has gone. If its takes have failed, that is no outage.
func clientGoneError(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return caddyhttp.Error(http.StatusGatewayTimeout, err)
	}
	return caddyhttp.Error(499, err) // the status that Caddy, too, logs if the client has gone
}

// admit hands the request to next, with a writer that sets the headers of the response. After that, it checks
// whether the next handlers have set credentials that the zones had read before.
func (e *Evaluation) admit(w http.ResponseWriter, next caddyhttp.Handler) (err error) {
	e.trace()
	if e.holdsPlaces() {
		w, next = e.atPaceOfClient(w, e.holdAfterCancel(next))
	}
	e.boundPermits()
	if len(e.capacity) > 0 {
		e.measureLatency()
	}
	if e.plain {
		defer hideEncodings(e.HTTP)()
	}
	err = e.serveNext(w, next)
	e.checkCredentials()
	return err
}
