package response

import (
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestBodiesDescribeLimit(t *testing.T) {
	for _, tc := range []struct {
		limit            limiter.Limit
		message, details string
	}{
		{limiter.Limit{Events: 100, Window: time.Minute}, "Rate limit of 100 requests per minute exceeded",
			`"limit":100,"window_seconds":60,`},
		{limiter.Limit{Events: 100, Window: time.Minute, Burst: 100}, "Rate limit of 100 requests per minute exceeded",
			`"limit":100,"window_seconds":60,`},
		{limiter.Limit{Events: 100, Window: time.Minute, Burst: 20},
			"Rate limit of 100 requests per minute (bursts of 20) exceeded", `"limit":100,"burst":20,"window_seconds":60,`},
		{limiter.Limit{Events: 1, Window: 1500 * time.Millisecond, Burst: 5},
			"Rate limit of 1 request per 1.5 seconds (bursts of 5) exceeded", `"limit":1,"burst":5,"window_seconds":1.5,`},
	} {
		compiled, err := limiter.NewRule(limiter.Rule{Limit: tc.limit})
		if err != nil {
			t.Fatal(err)
		}
		policy := NewPolicy("user", compiled, &config.Limit{Window: caddy.Duration(tc.limit.Window)})
		r := &Result{Policy: &policy, Cost: 1}
		text := string(r.appendBody(nil, config.RejectJSON, 1))
		if want := `"message":"` + tc.message + `","details":{"zone":"user",` + tc.details; !strings.Contains(text, want) {
			t.Errorf("JSON body of %+v =\n%s, want\n%s in it", tc.limit, text, want)
		}
		text = string(r.appendBody(nil, config.RejectProblem, 1))
		if want := `"detail":"` + tc.message + `"`; !strings.Contains(text, want) {
			t.Errorf("problem of %+v =\n%s, want\n%s in it", tc.limit, text, want)
		}
	}
}

// TestLongestFillTime has a bucket that takes more centuries to fill than a time.Duration can hold.
func TestLongestFillTime(t *testing.T) {
	rule, err := limiter.NewRule(limiter.Rule{Limit: limiter.Limit{Events: 1, Window: limiter.MaxWindow, Burst: 40}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `"user";q=40;w=9223372037`
	if got := newRuleTexts("user", &Policy{Rule: rule, Window: limiter.MaxWindow}).policy; got != want {
		t.Errorf("policy = %s, want %s", got, want)
	}
}

func TestPeriod(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Microsecond:        "0.000001 seconds",
		time.Millisecond:        "0.001 seconds",
		500 * time.Millisecond:  "0.5 seconds",
		time.Second:             "second",
		1500 * time.Millisecond: "1.5 seconds",
		10 * time.Second:        "10 seconds",
		time.Minute:             "minute",
		90 * time.Second:        "90 seconds",
		5 * time.Minute:         "5 minutes",
		time.Hour:               "hour",
		90 * time.Minute:        "90 minutes",
		36 * time.Hour:          "36 hours",
		24 * time.Hour:          "day",
		7 * 24 * time.Hour:      "7 days",
	} {
		if got := period(d); got != want {
			t.Errorf("period(%v) = %q, want %q", d, got, want)
		}
	}
}
