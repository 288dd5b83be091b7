// Package evaluate decides one request: it takes from all zones that apply, from every one of them or
// from none, and answers a request that is not admitted.
package evaluate

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/report"
	"github.com/fleetlimit/fleetlimit/internal/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// Decide takes from all zones that apply to the request: from every one of them or from none. There
// are none if the client's address is allowed, if emergency mode rejects the request, or if anything
// refuses it.
func (e *Evaluation) Decide() error {
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
	for _, z := range e.handler.Zones {
		if err := e.addTakes(z); err != nil || e.refused.refusal != nil {
			return err
		}
	}
	if err := e.take(); err != nil {
		return err
	}
	if len(e.dryRuns) > 0 && e.denied == nil {
		e.takeDryRuns()
	}
	if len(e.comparisons) > 0 {
		e.takeComparisons()
	}
	return nil
}

// IsRefused reports whether the request gets 403 or 400.
func (e *Evaluation) IsRefused() bool { return e.refused.refusal != nil }

// IsRejected reports whether a zone rejects the request.
func (e *Evaluation) IsRejected() bool { return e.denied != nil }

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
		e.refused = refused{found.Refusal, z, found.Template}
		return nil
	case found.Allowed:
		z.Usage.Allowed.Add(1)
		e.publish(report.Decision{Outcome: adminapi.Allowed, Zone: z.Usage, Key: found.Template, Reason: allowedKey})
		return nil
	}
	for i := range found.Charges[:found.Charged] {
		c := &found.Charges[i]
		if c.Policy.Rule != nil {
			if c.Cost -= e.charged(z, c.Policy.Rule, found.Key); c.Cost <= 0 {
				found.Compared = zone.Charge{} // it was compared before
				continue
			}
		}
		e.addTake(found, c)
	}
	if c := &found.Compared; c.Policy != nil {
		e.comparisons = append(e.comparisons, newShadow(found, c))
	}
	return nil
}

// addTake adds a take.
func (e *Evaluation) addTake(found *zone.Reading, c *zone.Charge) {
	if found.DryRun {
		e.dryRuns = append(e.dryRuns, newShadow(found, c))
		return
	}
	if c.Policy.Block {
		e.blocked = true
	} else {
		e.takes = append(e.takes, limiter.Take{Rule: c.Policy.Rule, Key: found.Key, Cost: c.Cost})
		if c.Counts != nil {
			e.addReserved(c.Counts)
		}
	}
	r := found.Result(c)
	r.Headers = e.handler.Headers
	e.state.Add(r)
}

// take has the store decide the takes, and sets denied if any zone rejects the request. It returns
// an error only if the client has gone meanwhile.
func (e *Evaluation) take() error {
	results := e.results()
	if len(results) == 0 {
		return nil
	}
	now, err := e.Time(), error(nil)
	if len(e.reserved) == 0 {
		err = e.takeFromStore(now)
	} else {
		now, err = e.takeInTurn(now)
	}
	e.now = limiter.At(now)
	if err != nil {
		if gone := clientGoneError(e.HTTP.Context()); gone != nil {
			return gone
		}
	}
	takes := e.takes
	for i := range results {
		r := &results[i]
		if r.Policy.Block {
			r.Block(e.now)
		} else {
			r.Decide(&takes[0], e.now)
			takes = takes[1:]
		}
	}
	results = e.state.Merge(e.first)
	for i := range results {
		if r := &results[i]; !r.Decision.OK && (e.denied == nil || r.Outweighs(e.denied)) {
			e.denied = r
		}
	}
	// If another zone denies the request, a failure decides nothing. So it is not an outage.
	if len(e.takes) > 0 && (err == nil || e.denied == nil || e.denied.Outage) {
		e.handler.Store.Note(now, err)
	}
	for i := range results {
		e.count(&results[i], e.denied != nil)
	}
	for i := range e.takes {
		if e.denied == nil {
			e.state.addCharge(&e.takes[i])
		}
	}
	if e.denied == nil {
		for _, r := range e.reserved {
			r.hold(e, &e.takes[r.index])
		}
	}
	return nil
}

// takeFromStore writes the decisions into the takes, and returns the first error of those that the
// store could not decide. Nothing is consumed if a rule rejects the request anyway.
func (e *Evaluation) takeFromStore(now time.Time) error {
	store := e.handler.Store
	switch {
	case len(e.takes) == 0:
		return nil
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
	if len(e.results()) == 0 && (e.state == nil || !e.state.IsAwaited()) {
		err = next.ServeHTTP(w, e.HTTP)
	} else {
		err = e.state.Serve(w, e.HTTP, e.first, next)
	}
	e.checkCredentials()
	return err
}
