package fleetlimit

import (
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// dryRunKeys are the keys of a zone whose requests it decides and never rejects. They are the same on all
// nodes, and a larger fraction has all keys of a smaller one. The zero value has none.
type dryRunKeys struct {
	all   bool
	below uint64 // the hashes of the keys are
	seed  uint64 // the hash of the zone's name
}

// newDryRun returns the dry run of a fraction of the keys of a zone.
func newDryRun(zone string, fraction float64) dryRunKeys {
	if fraction >= 1 {
		return dryRunKeys{all: true}
	}
	return dryRunKeys{below: uint64(fraction * math.MaxUint64), seed: hash64(14695981039346656037, zone)}
}

// includes reports whether requests with key are never rejected.
func (d *dryRunKeys) includes(key []byte) bool {
	if d.below == 0 {
		return d.all
	}
	h := hash64(d.seed, key)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd // FNV-1a alone mixes the last bytes too little
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h^h>>33 < d.below
}

// hash64 continues an FNV-1a hash.
func hash64[T string | []byte](h uint64, text T) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}

// A trial is the take of a zone that does not reject the request.
type trial struct {
	result zoneResult
	take   limiter.Take // unless the rule blocks
}

// takeTrials decides the trials, each by itself. They follow a request that the zones in force admit,
// because a rejected one is counted in no zone.
func (e *evaluation) takeTrials() {
	now := time.Now()
	e.now = limiter.At(now)
	store := e.handler.app.store
	clear(e.takes) // results have their decisions
	for i := range e.trials {
		r, take := &e.trials[i].result, e.trials[i].take
		if r.rule.block {
			r.block(e.now)
		} else {
			e.takes = append(e.takes[:0], take)
			_ = store.Take(e.request.Context(), store.instant(now), e.takes) // the take has the error
			r.decide(&e.takes[0], e.now)
		}
		if r.decision.OK {
			e.count(r, false)
			continue
		}
		r.zone.counters.wouldReject[r.decision.Source].Add(1)
		status := http.StatusTooManyRequests
		if r.unavailable() {
			status = http.StatusServiceUnavailable
		}
		e.tell(decided{outcome: adminapi.WouldReject, zone: r.zone, key: r.template, result: r, wouldBe: status})
		if logs, unlogged := e.logsRejection(r); logs {
			e.logTrial(r.zone, r.template, unlogged, zap.Int("would_be", status), zap.Duration("wait", r.boundedWait()))
		}
	}
	clear(e.takes)
	e.takes = e.takes[:0]
}

// passTrial lets a request pass a zone that would have answered err, or forbidden the request.
func (e *evaluation) passTrial(z *zone, key *keytemplate.Template, err error) {
	reason, status := "invalid", errorStatus(err)
	if e.forbidden.reason != nil {
		reason, status = e.forbidden.reason.name, http.StatusForbidden
	}
	e.forbidden = forbidden{}
	z.counters.wouldDeny.Add(1)
	e.tell(decided{outcome: adminapi.WouldDeny, zone: z, key: key, reason: reason, wouldBe: status})
	logs, unlogged := e.handler.loggedOf(z) == logAll, uint64(0)
	if e.handler.loggedOf(z) == logFirst {
		logs, unlogged = z.windowless.allow(time.Now().Unix())
	}
	if logs {
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
