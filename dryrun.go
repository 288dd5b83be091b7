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
	"github.com/fleetlimit/fleetlimit/limiter"
)

// takeDryRuns decides the dry runs, those of each zone by themselves. They follow a request that the
// zones in force admit, because a rejected one is counted in no zone.
func (e *evaluation) takeDryRuns() {
	now := time.Now()
	e.now = limiter.At(now)
	for rest := e.dryRuns; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(s shadow) bool { return s.result.Zone != rest[0].result.Zone })
		if n < 0 {
			n = len(rest)
		}
		r := e.decideShadows(rest[:n], now)
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
			e.logDryRun(r.Zone.Name, r.Template, unlogged, zap.Int("would_be", status), zap.Duration("wait", r.BoundedWait()),
				costField(r.Cost), tierUnknownField(r.UnknownTier))
		}
	}
}

// earlyData is why a request that Caddy would answer with 425 is not counted: its address is
// unverified.
const earlyData = "early_data"

// passDryRun lets a request pass a zone that would have answered err, or refused the request.
func (e *evaluation) passDryRun(found *reading, err error) {
	z, reason, status := found.zone, earlyData, errorStatus(err)
	if f := found.refusal; f != nil {
		reason, status = f.Reason, f.Status
	}
	z.usage.WouldDeny.Add(1)
	e.publish(decided{outcome: adminapi.WouldDeny, zone: z.usage, key: found.template, reason: reason, wouldBe: status})
	if logs, unlogged := e.handler.logsForbidden(z); logs {
		e.logDryRun(z.name, found.template, unlogged, zap.Int("would_be", status), zap.String("reason", reason))
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

// logDryRun logs that a zone would not have let the request pass.
func (e *evaluation) logDryRun(zone string, key *keytemplate.Template, suppressed uint64, about ...zap.Field) {
	e.log("request would be rejected", 0, key, suppressed, append(about, zap.String("zone", zone))...)
}
