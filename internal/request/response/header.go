package response

import (
	"net/http"
	"slices"
	"strconv"
)

// A headerSet is a set of headers.
type headerSet uint8

const (
	xHeaders     headerSet = 1 << iota // X-RateLimit-*
	draftHeaders                       // RateLimit and RateLimit-Policy
	noHeaders    headerSet = 0
)

// headersNamed returns the headers that the setting `headers` names.
func headersNamed(name string) headerSet {
	switch name {
	case "x":
		return xHeaders
	case "draft":
		return draftHeaders
	case "none":
		return noHeaders
	}
	return xHeaders | draftHeaders
}

// The headers that responses get. X-RateLimit-Policy only marks requests that could not be counted.
const (
	xLimit = iota
	xRemaining
	xReset
	xPolicy
	draftPolicy // the first header that is no X- header
	draftRateLimit
	headerCount
)

// headerNames are in the canonical form, which net/http keeps headers in.
var headerNames = [headerCount]string{
	"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Ratelimit-Policy",
	"Ratelimit-Policy", "Ratelimit",
}

// exposed lists our headers, which scripts of other origins may then read.
const (
	headerExpose = "Access-Control-Expose-Headers"
	exposed      = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Policy, RateLimit, " +
		"RateLimit-Policy, Retry-After"
)

// degraded marks requests that could not be counted, in X-RateLimit-Policy and in
// {http.rate_limit.<zone>.source}.
const degraded = "degraded"

// headerValues are the headers of one response, ready to be set any number of times.
type headerValues struct {
	set    headerSet
	values [headerCount]string // "" if the response does not have this header
	retry  [1]string           // the value of Retry-After, if the request is rejected
}

// names returns the range of headerNames that v sets.
func (v *headerValues) names() (first, end int) {
	first, end = 0, headerCount
	if v.set&xHeaders == 0 {
		first = draftPolicy
	}
	if v.set&draftHeaders == 0 {
		end = draftPolicy
	}
	return first, end
}

// format formats the headers for results. The X- headers describe shown. If retry is 0, Retry-After
// stays as an earlier handler has formatted it. All values share one string, so that only that is
// allocated.
func (v *headerValues) format(results []Result, shown *Result, retry int64) {
	v.set = noHeaders
	for i := range results {
		v.set |= results[i].Settings.headers
	}
	var buffer [256]byte
	var ends [headerCount]int
	b := buffer[:0]
	first, end := v.names()
	for i := first; i < end; i++ {
		switch {
		case i >= draftPolicy:
			b = appendDraft(b, results, i)
		case i == xLimit:
			b = strconv.AppendInt(b, shown.Decision.Limit, 10)
		case i == xRemaining:
			b = strconv.AppendInt(b, shown.Remaining(), 10)
		case i == xReset && shown.Failure == nil: // in an outage, the reset is unknown
			b = strconv.AppendInt(b, shown.Decision.ResetAt.Unix(), 10)
		case i == xPolicy && shown.Failure != nil:
			b = append(b, degraded...)
		}
		ends[i] = len(b)
	}
	if retry > 0 {
		b = strconv.AppendInt(b, retry, 10)
	}

	text, start := string(b), 0
	for i := first; i < end; i++ {
		v.values[i] = text[start:ends[i]]
		start = ends[i]
	}
	if retry > 0 {
		v.retry[0] = text[start:]
	}
}

// appendDraft appends the value of a draft header: an item for each zone, separated by commas.
// RateLimit has no item for a zone in an outage.
func appendDraft(b []byte, results []Result, header int) []byte {
	start := len(b)
	for i := range results {
		r := &results[i]
		if !r.Settings.has(draftHeaders) || header == draftRateLimit && r.Failure != nil {
			continue
		}
		if len(b) > start {
			b = append(b, ", "...)
		}
		if header == draftPolicy {
			b = append(b, r.ruleTexts().policy...)
		} else {
			b = r.appendItem(b)
		}
	}
	return b
}

// appendItem appends the zone's item of RateLimit. Its t is the time until the limit resets or, for a denied
// request, until the request can succeed: what remains may be enough for requests of a lower cost. If the
// request is denied, or if nothing remains, t is a wait, and max_retry_after bounds it. Otherwise t has no
// bound, because clients spread what remains over t, and a lower t would hurry them.
func (r *Result) appendItem(b []byte) []byte {
	until := r.Decision.ResetAt
	if !r.Decision.OK {
		until = r.Decision.RetryAt
	}
	b = append(b, r.ruleTexts().item...)
	b = strconv.AppendInt(b, r.Remaining(), 10)
	t := until.SecondsUntil(r.Decision.At)
	if !r.Decision.OK || r.Remaining() == 0 {
		t = r.Settings.bound(t)
	}
	if t > 0 {
		b = append(b, ";t="...)
		b = strconv.AppendInt(b, t, 10)
	}
	return b
}

// write sets the headers of the response to r. It replaces headers of an upstream, and removes headers for
// which v has no value.
func (v *headerValues) write(h http.Header, r *http.Request) {
	first, end := v.names()
	for i := first; i < end; i++ {
		if v.values[i] == "" {
			delete(h, headerNames[i])
		} else {
			h[headerNames[i]] = v.values[i : i+1 : i+1]
		}
	}
	if v.set != noHeaders {
		expose(h, r)
	}
}

// expose lets scripts of other origins read our headers, if the request has an Origin.
func expose(h http.Header, r *http.Request) {
	if r.Header["Origin"] != nil && !slices.Contains(h[headerExpose], exposed) {
		h.Add(headerExpose, exposed)
	}
}
