package integration

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// exhausted serves a zone of two requests a minute, and returns the reply to the third request.
func exhausted(t *testing.T, settings, site, method string, headers ...string) *reply {
	t.Helper()
	g := serve(t, `
		rate_limit {
			zone user {
				key {header.X-User}
				on_missing_key shared
				limit 2/1m
			}
			`+settings+`
		}
		`+site)
	g.request(method, "/", headers...).is(200)
	g.request(method, "/", headers...).is(200)
	return g.request(method, "/", headers...).is(429)
}

func TestRejectJSON(t *testing.T) {
	r := exhausted(t, "", `respond "hello"`, "GET").rejected().has("Content-Type", "application/json").has("Server", "Caddy")
	reset := time.Unix(r.number("X-RateLimit-Reset"), 0).UTC().Format(time.RFC3339)
	want := fmt.Sprintf(`{"error":{"code":"RATE_LIMIT_EXCEEDED","message":"Rate limit of 2 requests per minute exceeded",`+
		`"details":{"zone":"user","limit":2,"window_seconds":60,"retry_after_seconds":%d,"reset_at":%q}}}`,
		r.retryAfter(), reset)
	if got := strings.TrimSpace(r.body); got != want {
		t.Errorf("body =\n%s, want\n%s", got, want)
	}
	if s := r.retryAfter(); s < 29 || s > 30 {
		t.Errorf("Retry-After = %d, want 30", s)
	}
}

// With a burst, the headers tell the burst, and the body tells the burst and the limit.
func TestRejectionDescribesBurst(t *testing.T) {
	const want = `"message":"Rate limit of 100 requests per hour (bursts of 1) exceeded",` +
		`"details":{"zone":"z","limit":100,"burst":1,"window_seconds":3600,`
	g := serve(t, "rate_limit {\nzone z {\nkey all\nlimit 100/1h burst 1\n}\n}\nrespond hello")
	g.get("/").admitted(0)
	r := g.get("/").rejected().has("X-RateLimit-Limit", "1")
	if !strings.Contains(r.body, want) {
		t.Errorf("body = %s, want %s in it", r.body, want)
	}
}

func TestRejectProblem(t *testing.T) {
	r := exhausted(t, "reject problem", `respond "hello"`, "GET").rejected().has("Content-Type", "application/problem+json")
	var got map[string]any
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		t.Fatalf("body %q: %v", r.body, err)
	}
	for member, want := range map[string]any{
		"type":              "https://iana.org/assignments/http-problem-types#quota-exceeded",
		"status":            429.0,
		"detail":            "Rate limit of 2 requests per minute exceeded",
		"violated-policies": []any{"user"},
	} {
		if !reflect.DeepEqual(got[member], want) {
			t.Errorf("%s = %v, want %v", member, got[member], want)
		}
	}
	if title, _ := got["title"].(string); title == "" {
		t.Errorf("title = %v, want a text", got["title"])
	}
}

func TestRejectErrorInvokesErrorRoutes(t *testing.T) {
	r := exhausted(t, "reject error", `
		respond "hello"
		handle_errors {
			header X-Zone {http.rate_limit.exceeded.name}
			respond "sorry: {err.status_code} {err.status_text} in {http.rate_limit.exceeded.name}"
		}
	`, "GET").rejected().has("X-Zone", "user").has("X-RateLimit-Limit", "2").has("X-RateLimit-Remaining", "0")
	if want := "sorry: 429 Too Many Requests in user"; r.body != want {
		t.Errorf("body = %q, want %q", r.body, want)
	}
}

func TestRejectErrorWithoutErrorRoutes(t *testing.T) {
	r := exhausted(t, "reject error", `respond "hello"`, "GET").rejected().has("X-RateLimit-Remaining", "0")
	if r.body != "" {
		t.Errorf("body = %q, want none", r.body)
	}
}

func TestRejectDefaultsFromGlobalOption(t *testing.T) {
	g := serveWith(t, `
		rate_limit {
			defaults {
				reject problem
				headers x
				algorithm fixed_window
			}
		}
	`, `
		rate_limit {
			zone z {
				key all
				limit 1/1d
			}
		}
		respond "hello"
	`)
	g.get("/").is(200).lacks("RateLimit")
	g.get("/").rejected().has("Content-Type", "application/problem+json").lacks("RateLimit")
}

func TestRejectHEAD(t *testing.T) {
	r := exhausted(t, "", `respond "hello"`, "HEAD").rejected().has("Content-Type", "application/json")
	if r.body != "" {
		t.Errorf("body of a HEAD response = %q, want none", r.body)
	}
	if r.number("Content-Length") == 0 {
		t.Errorf("Content-Length = 0, want that of the GET response")
	}
}

func TestRejectBlocked(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone closed {
				key all
				limit block
			}
		}
		respond "hello"
	`)
	r := g.get("/").rejected().has("X-RateLimit-Limit", "0").has("X-RateLimit-Remaining", "0")
	if got := r.limits()["closed"]; got.r != 0 {
		t.Errorf("RateLimit = %+v, want r=0", got)
	}
}

func TestRetryAfterIsNotEarly(t *testing.T) {
	algorithms := []string{"token_bucket", "sliding_window_log", "sliding_window", "sliding_window 5", "fixed_window"}
	var zones strings.Builder
	for i, algorithm := range algorithms {
		fmt.Fprintf(&zones, "zone z%d {\nmatch {\npath /%d\n}\nkey all\nlimit 2/1s\nalgorithm %s\n}\n", i, i, algorithm)
	}
	g := serve(t, "rate_limit {\n"+zones.String()+"}\nrespond hello")

	rejections := make([]*reply, len(algorithms))
	for i := range algorithms {
		rejections[i] = g.exhaust(fmt.Sprint("/", i), 6)
	}
	for i, algorithm := range algorithms {
		wait := time.Duration(rejections[i].retryAfter()) * time.Second
		if wait > 2*time.Second {
			t.Errorf("%s: Retry-After = %v, want at most 2 s for two requests per second", algorithm, wait)
		}
		<-time.After(time.Until(rejections[i].at.Add(wait)))
		if r := g.get(fmt.Sprint("/", i)); r.status != 200 {
			t.Errorf("%s: status after waiting %v, as in Retry-After, = %d, want 200", algorithm, wait, r.status)
		}
	}
}

// exhaust sends up to n requests and returns the first rejection.
func (g *gateway) exhaust(path string, n int) *reply {
	g.t.Helper()
	for range n {
		if r := g.get(path); r.status == 429 {
			return r.rejected()
		}
	}
	g.t.Fatalf("none of %d requests of %s was rejected", n, path)
	return nil
}

func TestJitterOnlyLengthens(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone z {
				key all
				limit 1/1h
			}
			jitter 50%
		}
		respond "hello"
	`)
	g.get("/").admitted(0)
	seen := make(map[int64]bool)
	for range 20 {
		r := g.get("/").rejected()
		unjittered, jittered := r.limits()["z"].t, r.retryAfter()
		if jittered < unjittered || jittered > unjittered+unjittered/2+1 {
			t.Errorf("Retry-After = %d, want %d to %d", jittered, unjittered, unjittered+unjittered/2+1)
		}
		seen[jittered-unjittered] = true
	}
	if len(seen) < 5 {
		t.Errorf("different waits of 20 rejections = %d, want more", len(seen))
	}
}

func TestExposeHeadersToOtherOrigins(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone z {
				key all
				limit 2/1h
			}
		}
		header Access-Control-Expose-Headers X-Own
		respond "hello"
	`)
	exposed := func(r *reply) string {
		return strings.ToLower(strings.Join(r.header.Values("Access-Control-Expose-Headers"), ", "))
	}
	if got := exposed(g.get("/").admitted(1)); got != "x-own" {
		t.Errorf("exposed without an Origin = %q, want only the site's header", got)
	}
	names := []string{"x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit", "ratelimit-policy", "retry-after"}
	preflight := []string{"Origin: https://app.example", "Access-Control-Request-Method: GET"}
	got := exposed(g.request("OPTIONS", "/", preflight...).admitted(0))
	if !strings.Contains(got, "x-own") {
		t.Errorf("exposed = %q, want the site's header too", got)
	}
	for _, answer := range []string{got, exposed(g.get("/", preflight[0]).rejected())} {
		list := strings.Split(answer, ", ")
		for _, name := range names {
			if n := count(list, name); n != 1 {
				t.Errorf("exposed = %q lists %s %d times, want once", answer, name, n)
			}
		}
	}
}

func count(list []string, value string) (n int) {
	for _, v := range list {
		if v == value {
			n++
		}
	}
	return n
}

// A bucket may take centuries to fill. The wait is ten years at most, the longest window.
func TestLongestWait(t *testing.T) {
	g := serve(t, zoneSite("limit 1/87600h burst 40\ncost 40"))
	g.get("/", alice).is(200)
	if s := g.get("/", alice).rejected().retryAfter(); s != 87600*3600 {
		t.Errorf("Retry-After = %d, want ten years", s)
	}
}
