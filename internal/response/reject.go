package response

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
)

// The errors that error routes get.
var (
	errRateLimit   = errors.New("rate limit exceeded")
	errUnavailable = errors.New("rate limit is not available")
)

// fixedValues are the values of Cache-Control and Content-Type in one rejection. Rejections do not share
// them, because Caddy's `header` replaces text in values where they are.
type fixedValues [2]string

// set sets the headers of a rejection in a style. An error route sets the type of its own body.
func (v *fixedValues) set(h http.Header, style string) {
	*v = fixedValues{"no-store", "application/json"}
	h["Cache-Control"] = v[0:1:1]
	switch style {
	case config.RejectError:
		return
	case config.RejectProblem:
		v[1] = "application/problem+json"
	}
	h["Content-Type"] = v[1:2]
}

// Reject answers 429 for the zone of denied, or 503 while the count that it needs is not available.
// first is the index of the handler's first result, style one of those that `reject` has, and wait
// how long the client has to wait. The body is written by way of buffer.
func (s *State) Reject(
	w http.ResponseWriter, r *http.Request, denied Result, first int, style string, wait time.Duration, buffer *[]byte,
) error {
	retry := denied.Settings.RetryAfter(wait)
	s.formatHeaders(first, &denied, retry)
	header := w.Header()
	s.headers.write(header, r)
	header["Retry-After"] = s.headers.retry[:]
	s.fixed.set(header, style)
	status, err := http.StatusTooManyRequests, errRateLimit
	if denied.Unavailable() {
		status, err = http.StatusServiceUnavailable, errUnavailable
	}
	if style == config.RejectError {
		return caddyhttp.HandlerError{Err: err, StatusCode: status}
	}
	*buffer = denied.appendBody((*buffer)[:0], style, retry)
	write(w, status, *buffer)
	return nil
}

// write writes a response with a body.
func write(w http.ResponseWriter, status int, body []byte) {
	w.WriteHeader(status)
	_, _ = w.Write(body) // it fails if the client has gone, which needs no error
}

// The bodies of rejections up to their message, by form.
const (
	rejectedJSON           = `{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"`
	rejectedConcurrentJSON = `{"error":{"code":"CONCURRENCY_LIMIT_EXCEEDED","message":"`

	rejectedProblem = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests",` +
		`"status":429,"detail":"`
)

// The same while the counts of the zone are not available, up to its name.
const (
	unavailable     = "Requests cannot be counted at the moment"
	unavailableJSON = `{"error":{"code":"TEMPORARILY_UNAVAILABLE","message":"` + unavailable + `","details":{"zone":`

	problemReduced = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

	unavailableProblem = `{"type":"` + problemReduced + `",` +
		`"title":"Service Unavailable","status":503,"detail":"` + unavailable + `","violated-policies":[`
)

// appendBody appends the body of a rejection.
func (r *Result) appendBody(b []byte, style string, retry int64) []byte {
	t := r.Policy.ruleTexts()
	switch problem := style == config.RejectProblem; {
	case r.Unavailable() && problem:
		b = append(append(append(b, unavailableProblem...), t.zone...), `],"retry_after_seconds":`...)
		return append(strconv.AppendInt(b, retry, 10), "}\n"...)
	case r.Unavailable():
		b = append(append(append(b, unavailableJSON...), t.zone...), `,"retry_after_seconds":`...)
		return append(strconv.AppendInt(b, retry, 10), "}}}\n"...)
	case problem:
		b = r.appendMessage(append(b, rejectedProblem...))
		b = append(append(append(b, `","violated-policies":[`...), t.zone...), "],"...)
		return append(r.appendRetry(b, retry), "}\n"...)
	}
	begin := rejectedJSON
	if r.IsConcurrent() {
		begin = rejectedConcurrentJSON
	}
	b = r.appendMessage(append(b, begin...))
	b = append(append(append(b, `","details":{"zone":`...), t.zone...), ',')
	b = append(append(b, t.limits...), ',')
	b = append(r.appendRetry(b, retry), `,"reset_at":"`...)
	b = time.Unix(r.Decision.ResetAt.Unix(), 0).UTC().AppendFormat(b, time.RFC3339)
	return append(b, "\"}}}\n"...)
}

// appendMessage appends why the request is rejected. A cost of 1 needs no word: nothing is left then.
func (r *Result) appendMessage(b []byte) []byte {
	b = append(b, r.Policy.ruleTexts().message...)
	if r.Cost > 1 {
		b = strconv.AppendInt(append(b, ": this request counts as "...), r.Cost, 10)
		if !r.Outage {
			b = strconv.AppendInt(append(b, ", with "...), r.Remaining(), 10)
			b = append(b, " left"...)
		}
	}
	return b
}

// appendRetry appends the members that bodies of both forms end with.
func (r *Result) appendRetry(b []byte, retry int64) []byte {
	b = strconv.AppendInt(append(b, `"retry_after_seconds":`...), retry, 10)
	if r.Cost > 1 {
		b = strconv.AppendInt(append(b, `,"cost":`...), r.Cost, 10)
		if !r.Outage {
			b = strconv.AppendInt(append(b, `,"remaining":`...), r.Remaining(), 10)
		}
	}
	return b
}
