package fleetlimit

import (
	"errors"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A trial is the take of a zone that does not reject the request.
type trial struct {
	result zoneResult
	take   limiter.Take // unless the rule blocks or is unlimited
}

// decide decides t by itself.
func (t *trial) decide(e *evaluation, now time.Time) {
	r, at := &t.result, limiter.At(now)
	switch {
	case r.rule.block:
		r.block(at)
	case r.rule.unlimited():
		r.decision = limiter.Decision{OK: true, At: at}
	default:
		clear(e.takes) // results have their decisions
		e.takes = append(e.takes[:0], t.take)
		_ = e.handler.app.store.Take(e.request.Context(), now, e.takes) // the take has the error
		r.decide(&e.takes[0], at)
	}
}

// takeTrials decides the trials, each by itself. They follow a request that the zones in force
// admit, because a rejected one is counted in no zone.
func (e *evaluation) takeTrials() {
	now := time.Now()
	e.now = limiter.At(now)
	for i := range e.trials {
		r := &e.trials[i].result
		e.trials[i].decide(e, now)
		if r.decision.OK {
			e.count(r, false)
			continue
		}
		r.zone.counters.wouldReject[r.decision.Source].Add(1)
		status := http.StatusTooManyRequests
		if r.unavailable() {
			status = http.StatusServiceUnavailable
		}
		e.publish(decided{outcome: adminapi.WouldReject, zone: r.zone, key: r.template, result: r, wouldBe: status})
		if logs, unlogged := e.logsRejection(r); logs {
			e.logTrial(r.zone, r.template, unlogged, zap.Int("would_be", status), zap.Duration("wait", r.boundedWait()))
		}
	}
}

// passTrial lets a request pass a zone that would have answered err, or forbidden the request.
func (e *evaluation) passTrial(z *zone, key *keytemplate.Template, err error) {
	reason, status := "invalid", errorStatus(err)
	if e.forbidden.reason != nil {
		reason, status = e.forbidden.reason.name, http.StatusForbidden
	}
	e.forbidden = forbidden{}
	z.counters.wouldDeny.Add(1)
	e.publish(decided{outcome: adminapi.WouldDeny, zone: z, key: key, reason: reason, wouldBe: status})
	if logs, unlogged := e.handler.logsForbidden(z); logs {
		e.logTrial(z, key, unlogged, zap.Int("would_be", status), zap.String("reason", reason))
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
func (e *evaluation) logTrial(z *zone, key *keytemplate.Template, suppressed uint64, about ...zap.Field) {
	e.log("request would be rejected", 0, key, suppressed, append(about, zap.String("zone", z.name))...)
}
