package response

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
)

// The errors that error routes get.
var (
	errRateLimit   = errors.New("rate limit exceeded")
	errUnavailable = errors.New("rate limit is not available")
)

// fixedValues are the values of Cache-Control and Content-Type in one rejection. Rejections do not share the
// values, because Caddy's `header` replaces text within them.
type fixedValues [2]string

// set sets the headers of a rejection in a style. If the style is `error`, the error route sets the
// Content-Type.
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

// A Rejection is why a request is not admitted: the limit of a zone denies it, or it is refused.
type Rejection struct {
	Settings *Settings      // of the handler
	Zone     *ZoneResponses // the zone that the response names; nil if the handler itself refuses the request
	Denied   *Result        // the result that denies the request; nil if the request is refused
	Refusal  *Refusal       // why the request is refused; nil if the request is denied
	Wait     time.Duration  // the wait that the client is told; 0 if a refusal tells none
}

// style returns the style of the rejection, which is that of the zone that denies the request. That zone may
// be another one than Zone if the zones are in the syntax of caddy-ratelimit.
func (a *Rejection) style() string {
	z := a.Zone
	if a.Denied != nil {
		z = a.Denied.ZoneResponses
	}
	return a.Settings.Style(z != nil && z.Legacy)
}

// Reject answers a request that is not admitted. first is the index of the handler's first result. buffer is
// used for the body. An error route may reject a request that was rejected before: the response is then that
// of the latest rejection.
func (s *State) Reject(
	w http.ResponseWriter, r *http.Request, repl *caddy.Replacer, a *Rejection, first int, buffer *[]byte,
) error {
	header, style, retry := w.Header(), a.style(), a.Settings.retryAfter(a.Wait)
	s.rejected.removeHeaders(header)
	a.Zone.setHeaders(header, r, repl)
	s.rejected = a.Zone
	s.fixed.set(header, style)
	var denied Result // a copy, because formatHeaders moves results
	status, failed := http.StatusTooManyRequests, errRateLimit
	if a.Refusal != nil {
		status, failed = a.Refusal.Status, a.Refusal
		if a.Wait > 0 {
			s.headers.retry[0] = strconv.FormatInt(retry, 10)
			header["Retry-After"] = s.headers.retry[:]
			expose(header, r)
		}
	} else {
		denied = *a.Denied
		if status = denied.Status(); status == http.StatusServiceUnavailable {
			failed = errUnavailable
		}
		s.formatHeaders(first, &denied, retry)
		s.headers.write(header, r)
		header["Retry-After"] = s.headers.retry[:]
	}
	if style == config.RejectError {
		return caddyhttp.HandlerError{Err: failed, StatusCode: status}
	}
	b := (*buffer)[:0]
	switch hidden := a.Settings.hidesLimits(); {
	case a.Refusal != nil && hidden:
		b = a.Refusal.appendBody(b, nil, style)
	case a.Refusal != nil:
		b = a.Refusal.appendBody(b, a.Zone, style)
	case hidden:
		b = denied.appendHidden(b, style, retry)
	default:
		b = denied.appendBody(b, style, retry)
	}
	*buffer = appendEnd(b, style)
	w.WriteHeader(status)
	_, _ = w.Write(*buffer) // it fails if the client has gone, which needs no error
	return nil
}

// The beginnings of the bodies of rejections, up to the message.
const (
	rejectedJSON           = `{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"`
	rejectedConcurrentJSON = `{"error":{"code":"CONCURRENCY_LIMIT_EXCEEDED","message":"`

	rejectedProblem = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests",` +
		`"status":429,"detail":"`
)

// The beginnings of the bodies of rejections while the counts of the zone are not available, up to the
// details.
const (
	unavailable     = "Requests cannot be counted at the moment"
	unavailableJSON = `{"error":{"code":"TEMPORARILY_UNAVAILABLE","message":"` + unavailable + `","details":{`

	problemReduced = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

	unavailableProblem = `{"type":"` + problemReduced + `",` +
		`"title":"Service Unavailable","status":503,"detail":"` + unavailable + `",`
)

// appendEnd appends the end of a body, after its last member.
func appendEnd(b []byte, style string) []byte {
	if style == config.RejectProblem {
		return append(b, "}\n"...)
	}
	return append(b, "}}}\n"...)
}

// appendBody appends the body of a rejection, without its end.
func (r *Result) appendBody(b []byte, style string, retry int64) []byte {
	t := r.ruleTexts()
	switch problem := style == config.RejectProblem; {
	case r.Unavailable() && problem:
		b = append(append(b, unavailableProblem...), `"violated-policies":[`...)
		b = append(append(b, t.zone...), `],"retry_after_seconds":`...)
		return strconv.AppendInt(b, retry, 10)
	case r.Unavailable():
		b = append(append(b, unavailableJSON...), `"zone":`...)
		b = append(append(b, t.zone...), `,"retry_after_seconds":`...)
		return strconv.AppendInt(b, retry, 10)
	case problem:
		b = r.appendMessage(append(b, rejectedProblem...))
		b = append(append(append(b, `","violated-policies":[`...), t.zone...), ']')
		return r.appendRetry(append(append(b, t.place...), ','), retry)
	}
	begin := rejectedJSON
	if r.IsConcurrent() {
		begin = rejectedConcurrentJSON
	}
	b = r.appendMessage(append(b, begin...))
	b = append(append(append(b, `","details":{"zone":`...), t.zone...), t.place...)
	b = append(append(append(b, ','), t.limits...), ',')
	b = append(r.appendRetry(b, retry), `,"reset_at":"`...)
	b = time.Unix(r.Decision.ResetAt.Unix(), 0).UTC().AppendFormat(b, time.RFC3339)
	return append(b, '"')
}

// A Reservation is why a request reserves events. It is a format for messages, with a verb for the number of
// events.
type Reservation string

const (
	ReservedUntilKnown Reservation = ": this request reserves %d until its cost is known"
	ReservedAsKey      Reservation = ": this request reserves up to %d, as your last responses have cost"
	ReservedAsAll      Reservation = ": this request reserves up to %d, as the last responses of all clients have cost"

	countsAs Reservation = ": this request counts as %d" // and reserves nothing
)

// appendMessage appends why the request is rejected. It does not mention a cost of 1: nothing is left then.
func (r *Result) appendMessage(b []byte) []byte {
	b = append(b, r.ruleTexts().message...)
	if r.Cost > 1 || r.Reserves != "" {
		b = fmt.Appendf(b, string(cmp.Or(r.Reserves, countsAs)), r.Cost)
		if r.Failure == nil {
			b = fmt.Appendf(b, ", with %d left", r.Remaining())
		}
	}
	return b
}

// appendRetry appends the last members of a body, which are the same in both forms.
func (r *Result) appendRetry(b []byte, retry int64) []byte {
	b = strconv.AppendInt(append(b, `"retry_after_seconds":`...), retry, 10)
	if r.Cost > 1 {
		b = strconv.AppendInt(append(b, `,"cost":`...), r.Cost, 10)
		if r.Failure == nil {
			b = strconv.AppendInt(append(b, `,"remaining":`...), r.Remaining(), 10)
		}
	}
	return b
}
