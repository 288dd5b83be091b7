package evaluate

import (
	"net/http"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// An Explainer says what zones and lists of addresses find in a request. It is an interface because
// operators ask it: package inspect, which answers them, is above this one.
type Explainer interface {
	// Addresses returns what allows or denies the client of r before any zone: lists, or the rules of
	// s. It returns nil if nothing does.
	Addresses(s *zone.Snapshot, lists *zone.Addresses, r *http.Request) *api.DecidedBy

	// Zone says what a zone finds in r, and why. found, applies and err are what [zone.Zone.Read] has
	// returned. The limits are those of the charges, in their order, without what they would decide.
	// So are those of requests at once.
	Zone(s *zone.Snapshot, r *zone.Request, found *zone.Reading, applies bool, err error) api.ExplainedZone
}

// Explain finds out what Serve would decide, and why. It takes nothing, and neither counts nor logs
// the request. The caller then calls Answer.
func (e *Evaluation) Explain(by Explainer) (x api.ExplainedHandler, err error) {
	defer e.translateClient()()
	e.previews = true
	x = api.ExplainedHandler{Place: e.handler.Place, Path: e.HTTP.URL.Path, Zones: []api.ExplainedZone{}}
	exempt, denied, err := e.handler.Addresses.Check(e.HTTP, e.rules)
	if exempt || denied {
		x.Access = by.Addresses(e.rules, &e.handler.Addresses, e.HTTP)
	}
	switch {
	case err != nil:
		x.Status = errorStatus(err)
		return x, err
	case exempt:
		x.Outcome = api.Allowed
		return x, nil
	case denied:
		e.refused = refused{refusal: deniedAddress}
		x.Outcome, x.Status = api.Denied, deniedAddress.Status
		return x, nil
	}
	if c, err := e.decideInEmergency(e.handler.App.Emergency.Peek); err != nil {
		x.Status = errorStatus(err)
		return x, err
	} else if c != nil {
		e.endEmergency()
	}
	if e.denied != nil {
		x.Emergency = true
		x.Outcome, x.Status = outcomeOf(e.denied)
		return x, nil
	}
	limits, err := e.explainZones(&x, by)
	if err == nil && e.refused.refusal == nil {
		err = e.explainDecisions(&x, limits)
	}
	e.explainTexts(&x)
	switch {
	case err != nil:
		x.Status = errorStatus(err)
	case e.refused.refusal != nil:
		x.Outcome, x.Status = api.Denied, e.refused.refusal.Status
	case e.denied != nil:
		x.Outcome, x.Status = outcomeOf(e.denied)
	default:
		x.Outcome = api.Admitted
		if slices.ContainsFunc(x.Zones, func(z api.ExplainedZone) bool { return z.Outcome == api.Queued }) {
			x.Outcome = api.Queued
		}
	}
	return x, err
}

// An explainedTake is a limit whose decision is still to come.
type explainedTake struct {
	zone, limit int // the index in Zones, and the index in Limits or Concurrent of that zone
	concurrent  bool
	dryRun      bool
}

// decided returns where x describes the decision.
func (t *explainedTake) decided(x *api.ExplainedHandler) *api.ExplainedDecision {
	z := &x.Zones[t.zone]
	if t.concurrent {
		return &z.Concurrent[t.limit].ExplainedDecision
	}
	return &z.Limits[t.limit].ExplainedDecision
}

// explainZones adds to x what each zone finds in the request, and adds its checks as readZone does.
// Unlike readZones, it goes on after a zone that refuses the request.
func (e *Evaluation) explainZones(x *api.ExplainedHandler, by Explainer) (takes []explainedTake, failed error) {
	for _, z := range e.handler.Zones {
		found := &e.reading
		applies, err := z.Read(&e.Request, e.rules, found)
		x.Zones = append(x.Zones, by.Zone(e.rules, &e.Request, found, applies, err))
		explained := &x.Zones[len(x.Zones)-1]
		if applies {
			e.attachState()
		}
		switch {
		case applies && (err != nil || found.Refusal != nil) && found.DryRun:
			explained.Outcome = api.WouldDeny
			continue
		case err != nil:
			if failed == nil && e.refused.refusal == nil {
				failed = err
			}
			continue
		case found.Refusal != nil:
			explained.Outcome = api.Denied
			if failed == nil && e.refused.refusal == nil {
				e.refused = refused{found.Refusal, &z.ZoneResponses, found.Template}
			}
			continue
		case found.Allowed:
			explained.Outcome = api.Allowed
			continue
		case explained.Applies:
			explained.Outcome = api.Admitted
		}
		for i := range found.Charges {
			limit := &explained.Limits[i]
			if e.addRate(found, &found.Charges[i]) {
				takes = append(takes, explainedTake{zone: len(x.Zones) - 1, limit: i, dryRun: found.DryRun})
			}
			limit.Cost = max(0, found.Charges[i].Cost)
		}
		for i := range found.Concurrent {
			if e.addConcurrent(found, &found.Concurrent[i]) {
				takes = append(takes, explainedTake{len(x.Zones) - 1, i, true, found.DryRun})
			} else {
				explained.Concurrent[i].Held = true
			}
		}
	}
	return takes, failed
}

// explainDecisions adds to x what the takes would decide.
func (e *Evaluation) explainDecisions(x *api.ExplainedHandler, takes []explainedTake) error {
	if len(e.checks) > 0 {
		if _, _, err := e.decideChecks(); err != nil {
			return err
		}
		e.closeInOutage()
		e.findDenied()
		e.tellDecisive()
		if e.denied == nil {
			e.rememberCharges(e.checks)
		}
	}
	for range e.decideDryRuns() { // the decisions are in e.dryRuns
	}
	checks, dryRuns := e.checks, e.dryRuns
	for _, t := range takes {
		z, d := &x.Zones[t.zone], t.decided(x)
		if t.dryRun {
			d.Outcome = api.Admitted
			if explainResult(d, &dryRuns[0].result); !dryRuns[0].result.Decision.OK {
				d.Outcome, z.Outcome = api.WouldReject, api.WouldReject
			}
			dryRuns = dryRuns[1:]
			continue
		}
		explainResult(d, &checks[0].result)
		if d.Outcome != api.Admitted && z.Outcome != api.Rejected {
			z.Outcome = d.Outcome
		}
		checks = checks[1:]
	}
	return nil
}

// explainTexts adds to x the texts that each zone that applies would add to a rejection. The
// placeholders in them have the values that they would have then.
func (e *Evaluation) explainTexts(x *api.ExplainedHandler) {
	for i, z := range e.handler.Zones {
		explained := &x.Zones[i]
		if !explained.Applies {
			continue
		}
		exceeded := e.state.Exceeded // of an earlier handler, in error routes
		e.state.Exceeded = z.Name
		for setting, text := range z.Texts(e.HTTP, e.Repl) {
			explained.Rejection = append(explained.Rejection, api.ExplainedText{Setting: setting, Text: text})
		}
		e.state.Exceeded = exceeded
	}
}

// closeInOutage denies what `on_outage closed` denies. While the store does not answer, a preview
// leaves that open.
func (e *Evaluation) closeInOutage() {
	for i := range e.checks {
		r := &e.checks[i].result
		if r.Failure != nil && !r.IsConcurrent() && r.Policy.OnOutage == limiter.OutageClosed {
			r.Decision.OK, r.Decision.RetryAt = false, r.Decision.At+limiter.Instant(time.Second/time.Microsecond)
		}
	}
}

// explainResult describes the decision of r in d.
func explainResult(d *api.ExplainedDecision, r *response.Result) {
	d.Outcome, _ = outcomeOf(r)
	counts := r.Policy.Rule != nil || r.IsConcurrent()
	if counts {
		d.Source = r.Decision.Source.String()
	}
	if left := r.Remaining(); counts && left >= 0 {
		d.Remaining = &left
	}
	switch {
	case !r.Decision.OK:
		d.Wait = api.Wait(r.BoundedWait())
	case r.IsQueued():
		d.Wait = api.Wait(r.UntilTurn())
	}
}

// Answer answers the request that Explain has explained, or hands it to next. err is the error of
// Explain. The wait of a rejection has no jitter.
func (e *Evaluation) Answer(w http.ResponseWriter, next caddyhttp.Handler, err error) error {
	switch {
	case err != nil:
		return err
	case e.isRejected():
		a := e.rejection()
		return e.state.Reject(w, e.HTTP, e.Repl, &a, e.first, &e.body)
	}
	return e.admit(w, next)
}
