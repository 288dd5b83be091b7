package fleetlimit

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
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
	headerPolicy    = "Ratelimit-Policy"
	headerRateLimit = "Ratelimit"
	headerExpose    = "Access-Control-Expose-Headers"
)

// exposed is what Access-Control-Expose-Headers lets scripts of other origins read.
const exposed = "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy, Retry-After"

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
	set    headerSet
	values [5]string // X-RateLimit-Limit, -Remaining, -Reset, RateLimit-Policy, RateLimit
}

// format writes what the results say. speaker is the result that the X- headers speak for.
func (v *headerValues) format(results []result, speaker *result, now limiter.Instant) {
	v.set = noHeaders
	for i := range results {
		v.set |= results[i].headers
	}
	var scratch [256]byte
	b := scratch[:0]
	var ends [5]int
	if v.set&xHeaders != 0 {
		d := &speaker.decision
		b = strconv.AppendInt(b, d.Limit, 10)
		ends[0] = len(b)
		b = strconv.AppendInt(b, d.Remaining, 10)
		ends[1] = len(b)
		b = strconv.AppendInt(b, d.ResetAt.Unix(), 10)
	}
	ends[2] = len(b)
	if v.set&draftHeaders != 0 {
		b = appendItems(b, results, (*result).appendPolicy, now)
		ends[3] = len(b)
		b = appendItems(b, results, (*result).appendItem, now)
	}
	ends[3] = max(ends[2], ends[3])
	ends[4] = len(b)

	text, start := string(b), 0
	for i, end := range ends {
		v.values[i] = text[start:end]
		start = end
	}
}

// appendItems appends an item for each result that the draft headers list.
func appendItems(b []byte, results []result, item func(*result, []byte, limiter.Instant) []byte, now limiter.Instant) []byte {
	start := len(b)
	for i := range results {
		if results[i].headers&draftHeaders == 0 {
			continue
		}
		if len(b) > start {
			b = append(b, ", "...)
		}
		b = item(&results[i], b, now)
	}
	return b
}

// appendPolicy appends the result's item of RateLimit-Policy.
func (r *result) appendPolicy(b []byte, _ limiter.Instant) []byte {
	return append(b, r.rule.texts.policy...)
}

// appendItem appends the result's item of RateLimit. A denial leaves nothing until it may be retried, whatever is left for
// cheaper requests.
func (r *result) appendItem(b []byte, now limiter.Instant) []byte {
	left, until := r.decision.Remaining, r.decision.ResetAt
	if !r.decision.OK {
		left, until = 0, r.decision.RetryAt
	}
	b = append(b, r.rule.texts.item...)
	b = strconv.AppendInt(b, left, 10)
	if t := until.SecondsUntil(now); t > 0 {
		b = append(b, ";t="...)
		b = strconv.AppendInt(b, t, 10)
	}
	return b
}

// write sets the headers, and so replaces those of an upstream.
func (v *headerValues) write(h http.Header) {
	if v.set&xHeaders != 0 {
		h[headerLimit] = v.values[0:1:1]
		h[headerRemaining] = v.values[1:2:2]
		h[headerReset] = v.values[2:3:3]
	}
	if v.set&draftHeaders != 0 {
		h[headerPolicy] = v.values[3:4:4]
		h[headerRateLimit] = v.values[4:5:5]
	}
}

// expose lets scripts of other origins read our headers, when the request comes from one.
func expose(h http.Header, r *http.Request) {
	if r.Header["Origin"] == nil || slices.Contains(h[headerExpose], exposed) {
		return
	}
	h.Add(headerExpose, exposed)
}
