package fleetlimit

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// headerSet says which headers responses get.
type headerSet uint8

const (
	xHeaders     headerSet = 1 << iota // X-RateLimit-*
	draftHeaders                       // RateLimit and RateLimit-Policy
	noHeaders    headerSet = 0
)

func parseHeaderSet(name string) (headerSet, error) {
	switch name {
	case "", "all":
		return xHeaders | draftHeaders, nil
	case "x":
		return xHeaders, nil
	case "draft":
		return draftHeaders, nil
	case "none":
		return noHeaders, nil
	}
	return 0, fmt.Errorf("headers is %q: say x, draft, all or none", name)
}

// The names of our headers, in the canonical form that net/http keeps them under.
const (
	headerLimit     = "X-Ratelimit-Limit"
	headerRemaining = "X-Ratelimit-Remaining"
	headerReset     = "X-Ratelimit-Reset"
	headerXPolicy   = "X-Ratelimit-Policy"
	headerPolicy    = "Ratelimit-Policy"
	headerRateLimit = "Ratelimit"
	headerExpose    = "Access-Control-Expose-Headers"
)

// exposed is what Access-Control-Expose-Headers lets scripts of other origins read.
const exposed = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Policy, RateLimit, " +
	"RateLimit-Policy, Retry-After"

// ruleTexts are the texts about a rule that do not change from request to request.
type ruleTexts struct {
	policy string // its item in RateLimit-Policy
	item   string // the start of its item in RateLimit, up to r
	body   bodyTexts
}

func newRuleTexts(zone string, r *rule) ruleTexts {
	name := structuredString(zone)
	t := ruleTexts{policy: name + ";q=0", item: name + ";r="}
	if r.Rule != nil {
		t.policy = name + ";q=" + strconv.FormatInt(r.Capacity(), 10)
		if fill := r.FillTime(); fill >= time.Second {
			t.policy += ";w=" + strconv.FormatInt(int64((fill+time.Second-1)/time.Second), 10)
		}
	}
	t.body = newBodyTexts(zone, r)
	return t
}

// structuredString returns s as a String of RFC 9651. What such a string cannot hold becomes a question mark; only zones in
// the syntax of caddy-ratelimit have such names.
func structuredString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < ' ' || c > '~':
			b.WriteByte('?')
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// headerValues are the headers of one response, ready to be set any number of times.
type headerValues struct {
	values [len(headerNames)]string // an empty one says that the response has no such header
	retry  [1]string                // of Retry-After, when the request is rejected
	set    headerSet
}

// headerNames are the headers that responses get, those of xHeaders first. X-RateLimit-Policy is only there to say that
// the others speak of a request that could not be counted.
var headerNames = [...]string{headerLimit, headerRemaining, headerReset, headerXPolicy, headerPolicy, headerRateLimit}

// xCount is how many of headerNames are of xHeaders.
const xCount = 4

// format writes what the results say. speaker is the result that the X- headers speak for. All values are parts of one
// string. A retry of 0 leaves Retry-After as an earlier handler has formatted it.
func (v *headerValues) format(results []zoneResult, speaker *zoneResult, retry int64) {
	v.set = noHeaders
	for i := range results {
		v.set |= results[i].headers
	}
	var room [256]byte
	b := room[:0]
	var ends [len(headerNames)]int
	if v.set&xHeaders != 0 {
		b = speaker.appendX(b, ends[:xCount])
	}
	if v.set&draftHeaders != 0 {
		b = appendItems(b, results, (*zoneResult).appendPolicy)
		ends[xCount] = len(b)
		b = appendItems(b, results, (*zoneResult).appendItem)
	}
	ends[len(ends)-1] = len(b)
	if retry > 0 {
		b = strconv.AppendInt(b, retry, 10)
	}

	text, start := string(b), 0
	for i, end := range ends {
		end = max(start, end)
		v.values[i] = text[start:end]
		start = end
	}
	if retry > 0 {
		v.retry[0] = text[start:]
	}
}

// appendX appends the values of the X- headers and notes where each ends. Nobody knows when a request that could not be
// counted would have its full limit back.
func (r *zoneResult) appendX(b []byte, ends []int) []byte {
	d := &r.decision
	b = strconv.AppendInt(b, d.Limit, 10)
	ends[0] = len(b)
	b = strconv.AppendInt(b, d.Remaining, 10)
	ends[1] = len(b)
	if r.degraded {
		b = append(b, degraded...)
		ends[3] = len(b)
		return b
	}
	b = strconv.AppendInt(b, d.ResetAt.Unix(), 10)
	ends[2] = len(b)
	return b
}

// appendItems appends an item for each result that the draft headers list, with commas between those that are not empty.
func appendItems(b []byte, results []zoneResult, item func(*zoneResult, []byte) []byte) []byte {
	start := len(b)
	for i := range results {
		if results[i].headers&draftHeaders == 0 {
			continue
		}
		separated := b
		if len(b) > start {
			separated = append(b, ", "...)
		}
		if with := item(&results[i], separated); len(with) > len(separated) {
			b = with
		}
	}
	return b
}

// appendPolicy appends the result's item of RateLimit-Policy.
func (r *zoneResult) appendPolicy(b []byte) []byte {
	return append(b, r.rule.texts.policy...)
}

// appendItem appends the result's item of RateLimit; one that could not be counted has none. A denial leaves nothing until
// it may be retried, whatever is left for cheaper requests.
func (r *zoneResult) appendItem(b []byte) []byte {
	if r.degraded {
		return b
	}
	left, until := r.decision.Remaining, r.decision.ResetAt
	if !r.decision.OK {
		left, until = 0, r.decision.RetryAt
	}
	b = append(b, r.rule.texts.item...)
	b = strconv.AppendInt(b, left, 10)
	if t := until.SecondsUntil(r.decision.At); t > 0 {
		b = append(b, ";t="...)
		b = strconv.AppendInt(b, t, 10)
	}
	return b
}

// write sets the headers, and so replaces those of an upstream, or removes them where we have nothing to say.
func (v *headerValues) write(h http.Header) {
	first, end := v.names()
	for i := first; i < end; i++ {
		if v.values[i] == "" {
			delete(h, headerNames[i])
		} else {
			h[headerNames[i]] = v.values[i : i+1 : i+1]
		}
	}
}

// names returns the range of headerNames that are ours to set.
func (v *headerValues) names() (first, end int) {
	first, end = 0, len(headerNames)
	if v.set&xHeaders == 0 {
		first = xCount
	}
	if v.set&draftHeaders == 0 {
		end = xCount
	}
	return first, end
}

// expose lets scripts of other origins read our headers, when the request comes from one.
func expose(h http.Header, r *http.Request) {
	if r.Header["Origin"] == nil || slices.Contains(h[headerExpose], exposed) {
		return
	}
	h.Add(headerExpose, exposed)
}
