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
func (h *Handler) reject(q *question, w http.ResponseWriter, r *http.Request) error {
	denied := *q.denied
	q.rec.exceeded = denied.zone.name
	if denied.zone.legacy {
		q.rec.exceeded = fastest(q.results()).zone.name
	}
	q.rec.format(q.first, &denied, q.now)
	retry := h.retryAfter(denied.decision.RetryAt.SecondsUntil(q.now))

	header := w.Header()
	q.rec.headers.write(header)
	if q.rec.headers.set != noHeaders {
		expose(header, r)
	}
	header["Retry-After"] = []string{strconv.FormatInt(retry, 10)}
	header["Cache-Control"] = noStore
	h.report(&denied, r, q)

	texts := &denied.rule.texts.body
	var body []byte
	switch h.rejectAs.styleFor(denied.zone) {
	case rejectError:
		return caddyhttp.HandlerError{Err: errRateLimit, StatusCode: http.StatusTooManyRequests}
	case rejectProblem:
		header["Content-Type"] = typeProblem
		body = texts.appendProblem(make([]byte, 0, len(texts.problem)+24), retry)
	default:
		header["Content-Type"] = typeJSON
		body = texts.appendJSON(make([]byte, 0, len(texts.json)+64), retry, denied.decision.ResetAt)
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

// retryAfter returns the seconds to wait: at least 1, lengthened by the jitter, never shortened.
func (h *Handler) retryAfter(seconds int64) int64 {
	seconds = max(1, seconds)
	if h.Jitter > 0 {
		seconds += int64(float64(seconds)*h.Jitter*rand.Float64() + 0.999)
	}
	return seconds
}

// fastest returns, of the results that reject the request, the one with the highest rate: the one that caddy-ratelimit names.
func fastest(results []result) *result {
	var first *result
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

// bodyTexts are the parts of a rejection's body that are the same for all rejections under a rule.
type bodyTexts struct {
	json    string // up to the value of retry_after_seconds
	problem string // up to the value of retry_after_seconds
}

func newBodyTexts(zone string, r *rule) bodyTexts {
	name, _ := json.Marshal(zone) // of a string, Marshal never fails
	message, limit, window := "Requests are blocked", "0", strconv.FormatFloat(r.window.Seconds(), 'f', -1, 64)
	if r.Rule != nil {
		limit = strconv.FormatInt(r.Limit.Events, 10)
		noun := "seconds"
		if window == "1" {
			noun = "second"
		}
		message = fmt.Sprintf("Rate limit of %s per %s %s exceeded", amount(r.Limit.Events, "request"), window, noun)
	}
	return bodyTexts{
		json: `{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"` + message + `","details":{"zone":` + string(name) +
			`,"limit":` + limit + `,"window_seconds":` + window + `,"retry_after_seconds":`,
		problem: `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests",` +
			`"status":429,"detail":"` + message + `","violated-policies":[` + string(name) + `],"retry_after_seconds":`,
	}
}

func (t *bodyTexts) appendJSON(b []byte, retry int64, reset limiter.Instant) []byte {
	b = append(b, t.json...)
	b = strconv.AppendInt(b, retry, 10)
	b = append(b, `,"reset_at":"`...)
	b = time.Unix(reset.Unix(), 0).UTC().AppendFormat(b, time.RFC3339)
	return append(b, "\"}}}\n"...)
}

func (t *bodyTexts) appendProblem(b []byte, retry int64) []byte {
	b = append(b, t.problem...)
	b = strconv.AppendInt(b, retry, 10)
	return append(b, "}\n"...)
}
