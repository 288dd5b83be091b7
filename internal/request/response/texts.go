package response

import (
	"cmp"
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
	zone    string // the name of the zone as a JSON string
	place   string // the member of a rejection that names the endpoint; "" for a limit of the zone
	message string // the message of a rejection; the cost of the request may follow
	limits  string // the members of a rejection's details that are about the limit
}

// ruleTexts returns the texts of the limit of r.
func (r *Result) ruleTexts() *ruleTexts {
	p := r.Policy
	if t := p.texts.Load(); t != nil {
		return t
	}
	var t ruleTexts
	if p.Concurrent != nil {
		t = newConcurrentTexts(p.zone, p.Concurrent)
		if p.part {
			t.message = "Limit of " + amount(p.Concurrent.Limit, "concurrent request") + " from one address exceeded"
		}
	} else {
		t = newRuleTexts(p.zone, p)
	}
	if r.Endpoint != "" {
		name, _ := json.Marshal(r.Endpoint) // Marshal never fails for a string
		t.place = `,"endpoint":` + string(name)
		t.message += " at " + string(name[1:len(name)-1])
	}
	p.texts.Store(&t)
	return &t
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
	encoded, _ := json.Marshal(zone) // Marshal never fails for a string
	t.zone = string(encoded)
	t.message, t.limits = "Requests are blocked", `"limit":0`
	if r.Rule != nil {
		rate := amount(r.Limit.Events, cmp.Or(r.Unit, "request")) + " per " + period(r.Limit.Window)
		t.limits = `"limit":` + strconv.FormatInt(r.Limit.Events, 10)
		if r.Capacity() != r.Limit.Events {
			rate += fmt.Sprintf(" (bursts of %d)", r.Capacity())
			t.limits += `,"burst":` + strconv.FormatInt(r.Capacity(), 10)
		}
		t.message = "Rate limit of " + rate + " exceeded"
	}
	t.limits += `,"window_seconds":` + strconv.FormatFloat(r.Window.Seconds(), 'f', -1, 64)
	return t
}

// newConcurrentTexts returns the texts of a limit of requests at once. The item in headers has a name
// that no zone has, because the zone may have an item of its own.
func newConcurrentTexts(zone string, r *concurrency.Rule) (t ruleTexts) {
	name, limit := structuredString(zone+":concurrent"), strconv.FormatInt(r.Limit, 10)
	encoded, _ := json.Marshal(zone) // Marshal never fails for a string
	return ruleTexts{
		policy: name + ";q=" + limit + `;qu="concurrent-requests"`, item: name + ";r=", zone: string(encoded),
		message: "Limit of " + amount(r.Limit, "concurrent request") + " exceeded", limits: `"limit":` + limit,
	}
}

// structuredString returns s as a String of RFC 9651, with a question mark for each character that such a
// string cannot hold. Only names of zones in the syntax of caddy-ratelimit have such characters.
func structuredString(s string) string {
	text, _ := httpsfv.Marshal(httpsfv.NewItem(strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, s))) // Marshal never fails for printable ASCII
	return text
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

// amount returns a number with its noun: "1 event", "2 events".
func amount(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(n, 10) + " " + noun
}
