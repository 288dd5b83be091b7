package response

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// ruleTexts are the parts of responses that depend on nothing but the rule.
type ruleTexts struct {
	policy  string // the rule's item in RateLimit-Policy
	item    string // the rule's item in RateLimit, up to the value of r
	json    bodyTexts
	problem bodyTexts

	unavailable, unavailableProblem string // the same while its counts are not available
}

func newRuleTexts(zone string, r *Policy) ruleTexts {
	name := structuredString(zone)
	t := ruleTexts{policy: name + ";q=0", item: name + ";r="}
	if r.Rule != nil {
		t.policy = name + ";q=" + strconv.FormatInt(r.Capacity(), 10)
		if fill := r.FillTime(); fill >= time.Second {
			t.policy += ";w=" + strconv.FormatInt(int64(math.Ceil(fill.Seconds())), 10)
		}
	}
	t.json, t.problem = newBodies(zone, r)
	t.unavailable, t.unavailableProblem = newUnavailableBodies(zone)
	return t
}

// newConcurrentTexts returns the texts of a limit of requests at once. The item in headers has a name
// that no zone has, because the zone may have an item of its own.
func newConcurrentTexts(zone string, r *concurrency.Rule) (t ruleTexts) {
	name, limit := structuredString(zone+":concurrent"), strconv.FormatInt(r.Limit, 10)
	t.policy, t.item = name+";q="+limit+`;qu="concurrent-requests"`, name+";r="
	quoted, _ := json.Marshal(zone) // Marshal never fails for a string
	message := "Limit of " + amount(r.Limit, "concurrent request") + " exceeded"
	t.json = bodyTexts{
		`{"error":{"code":"CONCURRENCY_LIMIT_EXCEEDED","message":"` + message,
		`","details":{"zone":` + string(quoted) + `,"limit":` + limit + `,"retry_after_seconds":`,
	}
	t.problem = newProblem(quoted, message)
	t.unavailable, t.unavailableProblem = newUnavailableBodies(zone)
	return t
}

// newProblem returns the body of a rejection as a problem. zone is its name in JSON.
func newProblem(zone []byte, message string) bodyTexts {
	return bodyTexts{
		`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests",` +
			`"status":429,"detail":"` + message,
		`","violated-policies":[` + string(zone) + `],"retry_after_seconds":`,
	}
}

// structuredString returns s as a String of RFC 9651, with question marks for what such a string
// cannot hold. Only zones in the syntax of caddy-ratelimit have such names.
func structuredString(s string) string {
	text, _ := httpsfv.Marshal(httpsfv.NewItem(strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, s))) // Marshal never fails for printable ASCII
	return text
}

// bodyTexts are the parts of a rejection's body that depend on nothing but the rule.
type bodyTexts struct {
	message string // up to the end of the message, which may go on with the cost of the request
	details string // from there up to the value of retry_after_seconds
}

// newBodies returns the bodies of rejections by r.
func newBodies(zone string, r *Policy) (jsonBody, problemBody bodyTexts) {
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
	window := strconv.FormatFloat(r.Window.Seconds(), 'f', -1, 64)
	return bodyTexts{
		`{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"` + message,
		`","details":{"zone":` + string(name) + `,` + limits + `,"window_seconds":` + window + `,"retry_after_seconds":`,
	}, newProblem(name, message)
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

// amount returns a number with its noun: "1 event", "2 events".
func amount(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}
