package fleetlimit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// rejectStyle says how requests are rejected.
type rejectStyle uint8

const (
	rejectDefault rejectStyle = iota // as the zone's syntax says
	rejectJSON
	rejectProblem
	rejectError
)

func parseRejectStyle(name string) (rejectStyle, error) {
	switch name {
	case "":
		return rejectDefault, nil
	case "json":
		return rejectJSON, nil
	case "problem":
		return rejectProblem, nil
	case "error":
		return rejectError, nil
	}
	return 0, fmt.Errorf("reject is %q: say json, problem or error", name)
}

// styleFor returns how to reject a request for a zone.
func (s rejectStyle) styleFor(z *zone) rejectStyle {
	switch {
	case s != rejectDefault:
		return s
	case z.legacy:
		return rejectError
	}
	return rejectJSON
}

// errRateLimit is the error that error routes get.
var errRateLimit = errors.New("rate limit exceeded")

// reject answers 429.
func (h *Handler) reject(q *evaluation, w http.ResponseWriter, r *http.Request) error {
	denied := *q.denied
	q.state.exceeded = denied.zone.name
	if denied.zone.legacy {
		q.state.exceeded = highestRate(q.results()).zone.name
	}
	wait := h.addJitter(denied.retryAfter())
	retry := max(1, int64((wait+time.Second-1)/time.Second))
	style := h.rejectAs.styleFor(denied.zone)
	body := q.say(&denied, style, retry)

	header := w.Header()
	if style != rejectError {
		// It would be the ninth header, and a Go map of more than eight is so much dearer to fill and to copy, as net/http
		// does, that it shows in the rejections per second (docs/benchmarks.md). Before the others, as no map shrinks again.
		delete(header, "Server")
	}
	q.state.headers.write(header)
	if q.state.headers.set != noHeaders {
		expose(header, r)
	}
	header["Retry-After"] = q.state.headers.retry[:]
	header["Cache-Control"] = noStore
	h.report(&denied, wait, r, q)

	switch style {
	case rejectError:
		return caddyhttp.HandlerError{Err: errRateLimit, StatusCode: http.StatusTooManyRequests}
	case rejectProblem:
		header["Content-Type"] = typeProblem
	default:
		header["Content-Type"] = typeJSON
	}
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write(body) // a client that has gone has no use for an error either
	return nil
}

// Header values that all rejections share. Adding to them makes a copy, as they are full.
var (
	noStore     = []string{"no-store"}
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
)

// retryAfter returns the wait, at most the longest window: the retry of a take that never succeeds is never.
func (r *zoneResult) retryAfter() time.Duration {
	return time.Duration(min(r.wait(), limiter.Instant(limiter.MaxWindow/time.Microsecond))) * time.Microsecond
}

// addJitter returns wait with the jitter, which never shortens it.
func (h *Handler) addJitter(wait time.Duration) time.Duration {
	if h.Jitter > 0 {
		wait += time.Duration(float64(wait) * h.Jitter * rand.Float64())
	}
	return wait
}

// highestRate returns, of the results that reject the request, the one with the highest rate: the one that caddy-ratelimit names.
func highestRate(results []zoneResult) *zoneResult {
	var first *zoneResult
	for i := range results {
		if r := &results[i]; !r.decision.OK && (first == nil || r.rule.rate() > first.rule.rate()) {
			first = r
		}
	}
	return first
}

// rate returns events per second, 0 for block.
func (r *rule) rate() float64 {
	if r.Rule == nil {
		return 0
	}
	return float64(r.Limit.Events) / r.Limit.Window.Seconds()
}
