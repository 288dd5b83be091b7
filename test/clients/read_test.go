package clients

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"
)

// A reading is what node/read.js reads from a response.
type reading struct {
	Status       int
	RetryAfter   string
	CacheControl string
	Type, Text   string
	Body         body
	Policy       []struct {
		Name string
		Q, W int64
	}
	RateLimit []struct {
		Name string
		R    int64
		T    float64
	}
	Parsed *counts
}

// body has the members of both forms of a body in JSON.
type body struct {
	Error struct {
		Code    string
		Details struct {
			Zone       string
			Limit      int64
			Window     int64     `json:"window_seconds"`
			RetryAfter float64   `json:"retry_after_seconds"`
			ResetAt    time.Time `json:"reset_at"`
		}
	}
	Type             string
	Status           int
	ViolatedPolicies []string `json:"violated-policies"`
	RetryAfter       float64  `json:"retry_after_seconds"`
}

// counts is what ratelimit-header-parser returns; nil stands for NaN.
type counts struct {
	Limit, Used, Remaining *int64
	Reset                  *float64 // seconds from now
}

// The four responses to a key of 60/1h burst 3 and a tenant of 10/1h.
var (
	wantUser   = []string{"r=2 t=60", "r=1 t=120", "r=0 t=180", "r=0 t=60"}
	wantTenant = []string{"r=9 t=360", "r=8 t=720", "r=7 t=1080", "r=7 t=1080"}
	wantX      = []string{
		"limit=3 used=1 remaining=2 reset=60", "limit=3 used=2 remaining=1 reset=120",
		"limit=3 used=3 remaining=0 reset=180", "limit=3 used=3 remaining=0 reset=180",
	}
)

// TestNodeReadX reads "headers x" and the body of "reject json".
func TestNodeReadX(t *testing.T) {
	t.Parallel()
	responses := read(t, "x")
	for i, r := range responses {
		if got := r.Parsed.String(); got != wantX[i] {
			t.Errorf("response %d: ratelimit-header-parser reads %s, want %s", i+1, got, wantX[i])
		}
		if len(r.Policy) != 0 || len(r.RateLimit) != 0 {
			t.Errorf("response %d: draft headers = %v, %v; want none", i+1, r.Policy, r.RateLimit)
		}
	}
	e, d := responses[3].Body.Error, responses[3].Body.Error.Details
	got := fmt.Sprintf("%s %s %s %d/%ds retry in %v s, reset in %v s", responses[3].Type, e.Code, d.Zone, d.Limit, d.Window,
		near(d.RetryAfter), near(time.Until(d.ResetAt).Seconds()))
	if want := "application/json RATE_LIMIT_EXCEEDED x-user 60/3600s retry in 60 s, reset in 180 s"; got != want {
		t.Errorf("rejection reads %s, want %s", got, want)
	}
}

// checkUnparsed checks that ratelimit-header-parser reads nothing in any response.
func checkUnparsed(t *testing.T, responses []reading) {
	t.Helper()
	for i, r := range responses {
		if got := r.Parsed.String(); got != "NaN" {
			t.Errorf("response %d: ratelimit-header-parser reads %s, want NaN", i+1, got)
		}
	}
}

// TestNodeReadDraft reads "headers draft" and the body of "reject problem".
func TestNodeReadDraft(t *testing.T) {
	t.Parallel()
	responses := read(t, "draft")
	checkDraft(t, "draft", responses)
	checkUnparsed(t, responses) // what follows the name in the draft's RateLimit is new to the parser
	b := responses[3].Body
	got := fmt.Sprintf("%s %s %d %v retry in %v s", responses[3].Type, b.Type, b.Status, b.ViolatedPolicies,
		near(b.RetryAfter))
	const want = "application/problem+json https://iana.org/assignments/http-problem-types#quota-exceeded 429 [draft-user] " +
		"retry in 60 s"
	if got != want {
		t.Errorf("rejection reads %s, want %s", got, want)
	}
}

// TestNodeReadAll reads "headers all" and the page that handle_errors makes of "reject error".
func TestNodeReadAll(t *testing.T) {
	t.Parallel()
	responses := read(t, "all")
	checkDraft(t, "all", responses)
	// The parser prefers RateLimit to the X- headers, which it could read. This is why clients that
	// use it need "headers x".
	checkUnparsed(t, responses)
	if got := responses[3].Text; got != "Zone all-user is full." {
		t.Errorf("rejection reads %q, want the page of handle_errors", got)
	}
}

// read sends four requests of a key and its tenant. It checks what all rejections have in common.
func read(t *testing.T, path string) []reading {
	t.Helper()
	responses := node[[]reading](t, "read.js", "/"+path, t.Name())
	if len(responses) != 4 {
		t.Fatalf("%d responses, want 4", len(responses))
	}
	for i, r := range responses {
		want := "200 no Retry-After, Cache-Control "
		if i == 3 {
			want = "429 Retry-After 60, Cache-Control no-store"
		}
		retryAfter := "no Retry-After"
		if seconds, err := strconv.ParseFloat(r.RetryAfter, 64); err == nil {
			retryAfter = fmt.Sprint("Retry-After ", near(seconds))
		}
		if got := fmt.Sprintf("%d %s, Cache-Control %s", r.Status, retryAfter, r.CacheControl); got != want {
			t.Errorf("response %d reads %s, want %s", i+1, got, want)
		}
	}
	return responses
}

// checkDraft checks what structured-headers reads: both zones in each response.
func checkDraft(t *testing.T, path string, responses []reading) {
	t.Helper()
	for i, r := range responses {
		policies := map[string]string{}
		for _, p := range r.Policy {
			policies[p.Name] = fmt.Sprintf("q=%d w=%d", p.Q, p.W)
		}
		want := map[string]string{path + "-user": "q=3 w=180", path + "-tenant": "q=10 w=3600"}
		if fmt.Sprint(policies) != fmt.Sprint(want) || len(r.Policy) != len(want) {
			t.Errorf("response %d: RateLimit-Policy reads %v, want %v", i+1, r.Policy, want)
		}

		limits := map[string]string{}
		want = map[string]string{path + "-user": wantUser[i], path + "-tenant": wantTenant[i]}
		for _, l := range r.RateLimit {
			limits[l.Name] = fmt.Sprintf("r=%d t=%v", l.R, near(l.T))
		}
		if fmt.Sprint(limits) != fmt.Sprint(want) || len(r.RateLimit) != len(want) {
			t.Errorf("response %d: RateLimit reads %v, want %v", i+1, r.RateLimit, want)
		}
	}
}

// near rounds seconds until an instant to whole minutes, as they were at the first request: up to 5 s have
// passed since, and the instant may have been rounded up to a second. It returns a number that is further
// from whole minutes as it is.
func near(seconds float64) float64 {
	if whole := 60 * math.Ceil((seconds-1)/60); whole-seconds < 5 {
		return whole
	}
	return seconds
}

// String returns what the parser reads, with near applied to the seconds.
func (c *counts) String() string {
	switch {
	case c == nil:
		return "nothing"
	case c.isNaN():
		return "NaN"
	case c.Limit == nil || c.Used == nil || c.Remaining == nil || c.Reset == nil:
		return "something and NaN"
	}
	return fmt.Sprintf("limit=%d used=%d remaining=%d reset=%v", *c.Limit, *c.Used, *c.Remaining, near(*c.Reset))
}

func (c *counts) isNaN() bool {
	return c != nil && c.Limit == nil && c.Used == nil && c.Remaining == nil && c.Reset == nil
}
