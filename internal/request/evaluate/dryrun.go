package evaluate

import (
	"errors"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// takeDryRuns decides, counts and reports the dry runs, each zone by itself. It is called if the zones in
// force admit the request, because a rejected request counts in no zone.
func (e *Evaluation) takeDryRuns() {
	for c := range e.decideDryRuns() {
		r := &c.result
		if r.Decision.OK {
			e.count(c, false)
			continue
		}
		r.Counters.WouldReject[r.Decision.Source].Add(1)
		if r.IsConcurrent() {
			r.Usage.ConcurrentRejected.Add(1)
		}
		e.addTo(&r.Usage.Top.Rejected, c)
		e.remember(c)
		e.publish(report.Decision{Outcome: api.WouldReject, Zone: r.Usage, Key: r.Template, Result: r, WouldBe: r.Status()})
		e.handler.Reports.DryRunRejected(e.subject(), r)
	}
}

// decideDryRuns decides the dry runs, and yields for each zone the check that describes what the zone
// decides.
func (e *Evaluation) decideDryRuns() iter.Seq[*check] {
	return func(yield func(*check) bool) {
		now := time.Now()
		e.now = limiter.At(now)
		for rest := e.dryRuns; len(rest) > 0; {
			n := slices.IndexFunc(rest, func(c check) bool { return c.zone != rest[0].zone })
			if n < 0 {
				n = len(rest)
			}
			c := e.decideShadows(rest[:n], now)
			e.rememberCharges(rest[:n])
			rest = rest[n:]
			if !yield(c) {
				return
			}
		}
	}
}

// earlyData is why a request that Caddy would answer with 425 is not counted: the client's address is not
// verified yet.
const earlyData = "early_data"

// passDryRun counts and reports that a zone in a dry run would have answered err, or refused the request. The
// request passes.
func (e *Evaluation) passDryRun(found *zone.Reading, err error) {
	z, reason, status := found.Zone, earlyData, errorStatus(err)
	if f := found.Refusal; f != nil {
		reason, status = f.Reason, f.Status
	}
	z.Usage.WouldDeny.Add(1)
	e.publish(report.Decision{Outcome: api.WouldDeny, Zone: z.Usage, Key: found.Template, Reason: reason, WouldBe: status})
	e.handler.Reports.DryRunRefused(e.subject(), &z.ZoneResponses, found.Template, reason, status)
}

// errorStatus returns the status that Caddy answers err with.
func errorStatus(err error) int {
	var failed caddyhttp.HandlerError
	if errors.As(err, &failed) {
		return failed.StatusCode
	}
	return http.StatusInternalServerError
}
