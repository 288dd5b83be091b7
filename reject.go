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

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// styleOf returns how to reject the requests that a zone denies, or the handler itself if it is
// nil.
func (h *Handler) styleOf(z *zone) string {
	switch {
	case h.rejectStyle != "":
		return h.rejectStyle
	case z != nil && z.legacy:
		return config.RejectError
	}
	return config.RejectJSON
}

// errRateLimit is the error that error routes get.
var errRateLimit = errors.New("rate limit exceeded")

// Header values that all rejections share. Their capacity is used up, so appending makes a copy.
var (
	noStore     = []string{"no-store"}
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
)

// reject answers 429, or 503 while the count that it needs is not available.
func (e *evaluation) reject(w http.ResponseWriter) error {
	h, state, denied := e.handler, e.state, *e.denied // a copy, as formatHeaders moves results
	named := denied
	if denied.zone.legacy {
		named = *highestRate(e.results())
	}
	state.exceeded = named.zone.name
	wait := h.addJitter(denied.boundedWait())
	retry := max(1, int64((wait+time.Second-1)/time.Second))
	state.formatHeaders(e.first, &denied, retry)
	header := w.Header()
	state.headers.write(header, e.request)
	header["Retry-After"] = state.headers.retry[:]
	header["Cache-Control"] = noStore
	style := h.styleOf(denied.zone)
	e.report(&denied, &named, wait)
	if denied.unavailable() {
		return e.rejectUnavailable(w, &denied, style, retry)
	}
	switch style {
	case config.RejectError:
		return caddyhttp.HandlerError{Err: errRateLimit, StatusCode: http.StatusTooManyRequests}
	case config.RejectProblem:
		e.body = denied.appendProblem(e.body[:0], retry)
		e.write(w, http.StatusTooManyRequests, typeProblem)
	default:
		e.body = denied.appendJSON(e.body[:0], retry)
		e.write(w, http.StatusTooManyRequests, typeJSON)
	}
	return nil
}

// write writes a response with the body of e.
func (e *evaluation) write(w http.ResponseWriter, status int, contentType []string) {
	w.Header()["Content-Type"] = contentType
	w.WriteHeader(status)
	_, _ = w.Write(e.body) // it fails if the client has gone, which needs no error
}

// boundedWait returns the wait, at most the longest window that a limit can have: a take that can
// never succeed would wait for ever.
func (r *zoneResult) boundedWait() time.Duration {
	return time.Duration(min(r.wait(), limiter.Instant(limiter.MaxWindow/time.Microsecond))) * time.Microsecond
}

// addJitter returns wait with the jitter, which never shortens it.
func (h *Handler) addJitter(wait time.Duration) time.Duration {
	if h.Jitter > 0 {
		wait += time.Duration(float64(wait) * float64(h.Jitter) * rand.Float64())
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

// bodyTexts are the parts of a rejection's body that depend on nothing but the rule.
type bodyTexts struct {
	message string // up to the end of the message, which may go on with the cost of the request
	details string // from there up to the value of retry_after_seconds
}

// newBodies returns the bodies of rejections by r.
func newBodies(zone string, r *rule) (jsonBody, problemBody bodyTexts) {
	name, _ := json.Marshal(zone) // Marshal never fails for a string
	message, limits := "Requests are blocked", `"limit":0`
	if r.Rule != nil {
		rate := amount(r.Limit.Events, "request") + " per " + period(r.Limit.Window)
		limits = `"limit":` + strconv.FormatInt(r.Limit.Events, 10)
		if r.Capacity() != r.Limit.Events {
			rate += fmt.Sprintf(" (bursts of %d)", r.Capacity())
			limits += `,"burst":` + strconv.FormatInt(r.Capacity(), 10)
		}
		message = "Rate limit of " + rate + " exceeded"
	}
	window := strconv.FormatFloat(r.window.Seconds(), 'f', -1, 64)
	return bodyTexts{
			`{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"` + message,
			`","details":{"zone":` + string(name) + `,` + limits + `,"window_seconds":` + window + `,"retry_after_seconds":`,
		}, bodyTexts{
			`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests",` +
				`"status":429,"detail":"` + message,
			`","violated-policies":[` + string(name) + `],"retry_after_seconds":`,
		}
}

// period returns d as people write it after "per": "minute", "10 seconds", "1.5 seconds".
func period(d time.Duration) string {
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if d == unit.length {
			return unit.name
		}
		if d%unit.length == 0 {
			return amount(int64(d/unit.length), unit.name)
		}
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + " seconds"
}

func (r *zoneResult) appendJSON(b []byte, retry int64) []byte {
	b = r.appendRejection(b, &r.rule.texts.json, retry)
	b = append(b, `,"reset_at":"`...)
	b = time.Unix(r.decision.ResetAt.Unix(), 0).UTC().AppendFormat(b, time.RFC3339)
	return append(b, "\"}}}\n"...)
}

func (r *zoneResult) appendProblem(b []byte, retry int64) []byte {
	return append(r.appendRejection(b, &r.rule.texts.problem, retry), "}\n"...)
}

// appendRejection appends what bodies of both forms say. A cost of 1 needs no word: nothing is left
// then.
func (r *zoneResult) appendRejection(b []byte, t *bodyTexts, retry int64) []byte {
	b = append(b, t.message...)
	if r.cost > 1 {
		b = strconv.AppendInt(append(b, ": this request counts as "...), r.cost, 10)
		if !r.outage {
			b = strconv.AppendInt(append(b, ", with "...), r.remaining(), 10)
			b = append(b, " left"...)
		}
	}
	b = strconv.AppendInt(append(b, t.details...), retry, 10)
	if r.cost > 1 {
		b = strconv.AppendInt(append(b, `,"cost":`...), r.cost, 10)
		if !r.outage {
			b = strconv.AppendInt(append(b, `,"remaining":`...), r.remaining(), 10)
		}
	}
	return b
}

// unavailable reports whether the request is rejected because its count is not available.
func (r *zoneResult) unavailable() bool {
	return r.outage && !r.decision.OK && r.rule.OnOutage == limiter.OutageClosed
}

// outweighs reports whether the response describes the rejection r rather than other: a limit that
// is exceeded rather than a count that is not available, or else the one with the longer wait.
func (r *zoneResult) outweighs(other *zoneResult) bool {
	if r.unavailable() != other.unavailable() {
		return other.unavailable()
	}
	return r.wait() > other.wait()
}

// errUnavailable is the error that error routes get while a count is not available.
var errUnavailable = errors.New("rate limit is not available")

// newUnavailableBodies returns the bodies of responses while the counts of a zone are not
// available, up to the value of retry_after_seconds.
func newUnavailableBodies(zone string) (jsonBody, problemBody string) {
	const message = "Requests cannot be counted at the moment"
	name, _ := json.Marshal(zone) // Marshal never fails for a string
	return `{"error":{"code":"TEMPORARILY_UNAVAILABLE","message":"` + message + `","details":{"zone":` + string(name) +
			`,"retry_after_seconds":`,
		`{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",` +
			`"title":"Service Unavailable","status":503,"detail":"` + message + `","violated-policies":[` + string(name) +
			`],"retry_after_seconds":`
}

// rejectUnavailable answers 503.
func (e *evaluation) rejectUnavailable(w http.ResponseWriter, denied *zoneResult, style string, retry int64) error {
	if style == config.RejectError {
		return caddyhttp.HandlerError{Err: errUnavailable, StatusCode: http.StatusServiceUnavailable}
	}
	contentType := typeJSON
	if style == config.RejectProblem {
		contentType = typeProblem
	}
	e.body = denied.appendUnavailable(e.body[:0], style, retry)
	e.write(w, http.StatusServiceUnavailable, contentType)
	return nil
}

func (r *zoneResult) appendUnavailable(b []byte, style string, retry int64) []byte {
	if style == config.RejectProblem {
		b = strconv.AppendInt(append(b, r.rule.texts.unavailableProblem...), retry, 10)
		return append(b, "}\n"...)
	}
	b = strconv.AppendInt(append(b, r.rule.texts.unavailable...), retry, 10)
	return append(b, "}}}\n"...)
}
