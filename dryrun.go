package fleetlimit

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A trial is a take of a zone that does not reject the request.
type trial struct {
	result response.Result
	take   limiter.Take // unless the rule blocks or is unlimited
}

// decideTrials decides the trials of one zone as one, and returns the result that describes them.
// There are several if the request is at several endpoints.
func (e *evaluation) decideTrials(trials []trial, now time.Time) *response.Result {
	clear(e.takes) // results have their decisions
	e.takes = e.takes[:0]
	blocked := false
	for i := range trials {
		switch r := trials[i].result.Policy; {
		case r.Block:
			blocked = true
		case !r.Unlimited():
			e.takes = append(e.takes, trials[i].take)
		}
	}
	switch store := e.handler.takes; { // takes have the errors
	case len(e.takes) == 0:
	case blocked:
		_ = store.Peek(e.request.Context(), now, e.takes)
	default:
		_ = store.Take(e.request.Context(), now, e.takes)
	}
	takes, at := e.takes, limiter.At(now)
	var decisive *response.Result
	for i := range trials {
		r := &trials[i].result
		switch {
		case r.Policy.Block:
			r.Block(at)
		case r.Policy.Unlimited():
			r.Decision = limiter.Decision{OK: true, At: at}
		default:
			r.Decide(&takes[0], at)
			takes = takes[1:]
		}
		if decisive == nil || r.Decides(decisive) {
			decisive = r
		}
	}
	return decisive
}

// takeTrials decides the trials, those of each zone by themselves. They follow a request that the
// zones in force admit, because a rejected one is counted in no zone.
func (e *evaluation) takeTrials() {
	now := time.Now()
	e.now = limiter.At(now)
	for rest := e.trials; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(t trial) bool { return t.result.Zone != rest[0].result.Zone })
		if n < 0 {
			n = len(rest)
		}
		r := e.decideTrials(rest[:n], now)
		rest = rest[n:]
		for i := range e.takes {
			e.state.addCharge(&e.takes[i])
		}
		if r.Decision.OK {
			e.count(r, false)
			continue
		}
		r.Zone.WouldReject[r.Decision.Source].Add(1)
		status := http.StatusTooManyRequests
		if r.Unavailable() {
			status = http.StatusServiceUnavailable
		}
		e.publish(decided{outcome: adminapi.WouldReject, zone: r.Zone, key: r.Template, result: r, wouldBe: status})
		if logs, unlogged := e.logsRejection(r); logs {
			e.logTrial(r.Zone.Name, r.Template, unlogged, zap.Int("would_be", status), zap.Duration("wait", r.BoundedWait()),
				costField(r.Cost), tierUnknownField(r.UnknownTier))
		}
	}
}

// earlyData is why a request that Caddy would answer with 425 is not counted: its address is
// unverified.
const earlyData = "early_data"

// passTrial lets a request pass a zone that would have answered err, or forbidden the request.
func (e *evaluation) passTrial(z *zone, key *keytemplate.Template, err error) {
	reason, status := earlyData, errorStatus(err)
	if f := e.forbidden.reason; f != nil {
		reason, status = f.Reason, f.Status
	}
	e.forbidden = forbidden{}
	z.usage.WouldDeny.Add(1)
	e.publish(decided{outcome: adminapi.WouldDeny, zone: z.usage, key: key, reason: reason, wouldBe: status})
	if logs, unlogged := e.handler.logsForbidden(z); logs {
		e.logTrial(z.name, key, unlogged, zap.Int("would_be", status), zap.String("reason", reason))
	}
}

// errorStatus returns the status that Caddy answers err with.
func errorStatus(err error) int {
	var failed caddyhttp.HandlerError
	if errors.As(err, &failed) {
		return failed.StatusCode
	}
	return http.StatusInternalServerError
}

// logTrial logs that a zone would not have let the request pass.
func (e *evaluation) logTrial(zone string, key *keytemplate.Template, suppressed uint64, about ...zap.Field) {
	e.log("request would be rejected", 0, key, suppressed, append(about, zap.String("zone", zone))...)
}
