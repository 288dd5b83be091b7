package fleetlimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// The values of reject.
const (
	rejectJSON    = "json"
	rejectProblem = "problem"
	rejectError   = "error"
)

func parseRejectStyle(style string) (string, error) {
	switch style {
	case "", rejectJSON, rejectProblem, rejectError:
		return style, nil
	}
	return "", unknownWord("reject", style, rejectJSON, rejectProblem, rejectError)
}

// styleOf returns how to reject the requests that a zone denies.
func (h *Handler) styleOf(z *zone) string {
	switch {
	case h.rejectStyle != "":
		return h.rejectStyle
	case z.legacy:
		return rejectError
	}
	return rejectJSON
}

// errRateLimit is the error that error routes get.
var errRateLimit = errors.New("rate limit exceeded")

// Header values that all rejections share. Their capacity is used up, so appending makes a copy.
var (
	noStore     = []string{"no-store"}
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
)

// reject answers 429.
func (e *evaluation) reject(w http.ResponseWriter) error {
	h, state, denied := e.handler, e.state, *e.denied // a copy, as formatHeaders moves results
	state.exceeded = denied.zone.name
	if denied.zone.legacy {
		state.exceeded = highestRate(e.results()).zone.name
	}
	wait := h.addJitter(denied.boundedWait())
	retry := max(1, int64((wait+time.Second-1)/time.Second))
	state.formatHeaders(e.first, &denied, retry)
	header := w.Header()
	state.headers.write(header, e.request)
	header["Retry-After"] = state.headers.retry[:]
	header["Cache-Control"] = noStore
	e.report(&denied, wait)

	switch h.styleOf(denied.zone) {
	case rejectError:
		return caddyhttp.HandlerError{Err: errRateLimit, StatusCode: http.StatusTooManyRequests}
	case rejectProblem:
		header["Content-Type"] = typeProblem
		e.body = denied.appendProblem(e.body[:0], retry)
	default:
		header["Content-Type"] = typeJSON
		e.body = denied.appendJSON(e.body[:0], retry)
	}
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write(e.body) // it fails if the client has gone, which needs no error
	return nil
}

// boundedWait returns the wait, at most the longest window that a limit can have: a take that can
// never succeed would wait for ever.
func (r *zoneResult) boundedWait() time.Duration {
	return time.Duration(min(r.wait(), limiter.Instant(limiter.MaxWindow/time.Microsecond))) * time.Microsecond
}

// addJitter returns wait with the jitter, which never shortens it.
func (h *Handler) addJitter(wait time.Duration) time.Duration {
	if h.Jitter > 0 {
		wait += time.Duration(float64(wait) * h.Jitter * rand.Float64())
	}
	return wait
}

// highestRate returns the result with the highest rate among those that reject the request. It is
// the one that caddy-ratelimit names.
func highestRate(results []zoneResult) *zoneResult {
	var highest *zoneResult
	for i := range results {
		if r := &results[i]; !r.decision.OK && (highest == nil || r.rule.rate() > highest.rule.rate()) {
			highest = r
		}
	}
	return highest
}

// rate returns events per second, 0 for block.
func (r *rule) rate() float64 {
	if r.Rule == nil {
		return 0
	}
	return float64(r.Limit.Events) / r.Limit.Window.Seconds()
}

// newBodies returns the bodies of rejections by r, up to the value of retry_after_seconds.
func newBodies(zone string, r *rule) (jsonBody, problemBody string) {
	name, _ := json.Marshal(zone) // Marshal never fails for a string
	message, limit, window := "Requests are blocked", "0", strconv.FormatFloat(r.window.Seconds(), 'f', -1, 64)
	if r.Rule != nil {
		limit = strconv.FormatInt(r.Limit.Events, 10)
		noun := "seconds"
		if window == "1" {
			noun = "second"
		}
		message = fmt.Sprintf("Rate limit of %s per %s %s exceeded", amount(r.Limit.Events, "request"), window, noun)
	}
	return `{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"` + message + `","details":{"zone":` + string(name) +
			`,"limit":` + limit + `,"window_seconds":` + window + `,"retry_after_seconds":`,
		`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests",` +
			`"status":429,"detail":"` + message + `","violated-policies":[` + string(name) + `],"retry_after_seconds":`
}

func (r *zoneResult) appendJSON(b []byte, retry int64) []byte {
	b = append(b, r.rule.texts.json...)
	b = strconv.AppendInt(b, retry, 10)
	b = append(b, `,"reset_at":"`...)
	b = time.Unix(r.decision.ResetAt.Unix(), 0).UTC().AppendFormat(b, time.RFC3339)
	return append(b, "\"}}}\n"...)
}

func (r *zoneResult) appendProblem(b []byte, retry int64) []byte {
	b = append(b, r.rule.texts.problem...)
	b = strconv.AppendInt(b, retry, 10)
	return append(b, "}\n"...)
}
