package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A flight is a request that a test keeps in flight.
type flight struct {
	w    *httptest.ResponseRecorder
	end  func(caddyhttp.HandlerFunc) // has a handler answer the request, and waits for its end
	done chan struct{}
}

// fly sends a request of a key. It returns when the request is in flight, or has been answered.
func fly(t *testing.T, h caddyhttp.MiddlewareHandler, key, path string) *flight {
	t.Helper()
	r := benchRequest(key)
	u := *r.URL
	u.Path = path
	r.URL = &u
	f := &flight{w: httptest.NewRecorder(), done: make(chan struct{})}
	begun, answer := make(chan struct{}), make(chan caddyhttp.HandlerFunc)
	go func() {
		defer close(f.done)
		defer func() { _ = recover() }() // as net/http does
		_ = h.ServeHTTP(f.w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			close(begun)
			return (<-answer)(w, r)
		}))
	}()
	end := sync.OnceFunc(func() { <-f.done })
	f.end = func(with caddyhttp.HandlerFunc) {
		select {
		case answer <- with:
		case <-f.done:
		}
		end()
	}
	t.Cleanup(func() { f.end(answerOK) })
	select {
	case <-begun:
	case <-f.done:
	}
	return f
}

func answerOK(w http.ResponseWriter, _ *http.Request) error {
	w.WriteHeader(http.StatusOK)
	return nil
}

// status returns the status of the response, 0 if the request is in flight.
func (f *flight) status() int {
	select {
	case <-f.done:
		return f.w.Code
	default:
		return 0
	}
}

func keyed(name, zone string) string {
	return `{"log_rejections": "none", "rate_limits": {"` + name + `": {"key": "{http.request.header.X-Api-Key}", ` + zone + `}}}`
}

// TestPermitIsReleased has requests end in all the ways there are.
func TestPermitIsReleased(t *testing.T) {
	for name, answer := range map[string]caddyhttp.HandlerFunc{
		"a response":           answerOK,
		"nothing":              func(http.ResponseWriter, *http.Request) error { return nil },
		"an error":             func(http.ResponseWriter, *http.Request) error { return errors.New("fails") },
		"a panic":              func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) },
		"an upgrade":           func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(101); return nil },
		"a stream":             func(w http.ResponseWriter, _ *http.Request) error { return http.NewResponseController(w).Flush() },
		"a client that leaves": func(http.ResponseWriter, *http.Request) error { return caddyhttp.Error(499, context.Canceled) },
	} {
		for _, headers := range []string{"all", "none"} {
			zone := "released by " + strings.ReplaceAll(name, " ", "-")
			zone = strings.ReplaceAll(zone, " ", "-")
			h := provisioned(t, strings.Replace(keyed(zone, `"concurrent": 1`), `{"log`, `{"headers": "`+headers+`", "log`, 1))
			for i := range 3 {
				first := fly(t, h, "k", "/")
				if first.status() != 0 {
					t.Fatalf("%s: request %d = %d, want it in flight", name, i, first.status())
				}
				if second := fly(t, h, "k", "/"); second.status() != 429 {
					t.Errorf("%s: a second request at once = %d, want 429", name, second.status())
				}
				if n := h.requests.Zones[0].Usage.InFlight.Load(); n != 1 {
					t.Errorf("%s: %d requests are in flight, want 1", name, n)
				}
				first.end(answer)
			}
			if n := h.requests.Zones[0].Usage.InFlight.Load(); n != 0 {
				t.Errorf("%s: %d requests are in flight after all have ended", name, n)
			}
		}
	}
}

// TestConcurrentLimits sends requests that all stay in flight, and checks how many are admitted.
func TestConcurrentLimits(t *testing.T) {
	for i, test := range []struct {
		zone     string
		requests string // the key and path of each request
		want     string // the indices of the admitted requests
	}{
		{`"concurrent": 2`, "a/ a/ a/ b/", "0 1 3"},
		{`"concurrent": 2, "limit": "unlimited"`, "a/ a/ a/", "0 1"},
		{`"concurrent": 2, "limit": "block"`, "a/", ""},
		{`"concurrent": 3, "limit": "2/1000h"`, "a/ a/ a/ b/", "0 1 3"},

		// Endpoints share the count of the zone unless they set their own.
		{`"concurrent": 2, "endpoints": [{"path": "/x", "limit": "9/1h"}]`, "a/x a/ a/x a/", "0 1"},
		{`"concurrent": 1, "endpoints": [{"path": "/x", "concurrent": 2}]`, "a/x a/ a/x a/ a/x", "0 1 2"},
		{`"endpoints": [{"path": "/x", "concurrent": 1}]`, "a/x a/ a/x a/ b/x", "0 1 3 4"},
		{`"limit": "3/1000h", "endpoints": [{"path": "/x", "concurrent": 1}]`, "a/x a/x a/ a/ a/", "0 2 3"},

		// Tiers.
		{concurrentTiers + `"concurrent": 2`, "free/ free/ pro/ pro/ pro/ other/ other/ other/", "0 2 3 4 5 6"},
		{concurrentTiers + `"concurrent": 2, "endpoints": [{"path": "/x", "concurrent": 1, "tiers": {"pro": {"concurrent": 2}}}]`,
			"free/x free/x pro/x pro/x pro/x pro/", "0 2 3 5"},

		// Requests without a key have the limit of keys of an unknown tier.
		{`"concurrent": 1, "on_missing_key": "shared"`, "/ / a/", "0 2"},
		{`"concurrent": 1, "on_missing_limit": "5/1h"`, "/ / a/", "0 2"},

		{`"concurrent": 1, "allow_keys": ["a"]`, "a/ a/ b/ b/", "0 1 2"},
		{`"concurrent": 1, "dry_run": 1`, "a/ a/", "0 1"},
	} {
		h := provisioned(t, keyed(fmt.Sprintf("concurrent-%d", i), test.zone))
		var got []string
		for i, request := range strings.Fields(test.requests) {
			key, path, _ := strings.Cut(request, "/")
			if fly(t, h, key, "/"+path).status() == 0 {
				got = append(got, fmt.Sprint(i))
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%s: requests in flight of %s = %s, want %s", test.zone, test.requests, got, test.want)
		}
	}
}

const concurrentTiers = `"limit": "100/1h", "tier": {"tiers": {"free": {"events": 100, "window": "1h", "concurrent": 1},
	"pro": {"events": 100, "window": "1h", "concurrent": 3}}, "keys": [{"glob": "free", "tier": "free"}, {"glob": "pro", "tier": "pro"}]}, `

// TestConcurrentRejection checks what the responses say.
func TestConcurrentRejection(t *testing.T) {
	for _, test := range []struct{ name, zone, admitted, rejected string }{
		{"reports", `"concurrent": 1`,
			`Ratelimit="reports:concurrent";r=0 Ratelimit-Policy="reports:concurrent";q=1;qu="concurrent-requests" ` +
				`X-Ratelimit-Limit=1 X-Ratelimit-Remaining=0`,
			`Ratelimit="reports:concurrent";r=0;t=1 Ratelimit-Policy="reports:concurrent";q=1;qu="concurrent-requests" ` +
				`Retry-After=1 X-Ratelimit-Limit=1 X-Ratelimit-Remaining=0`},
		{"both", `"concurrent": 1, "limit": "5/1h"`,
			`Ratelimit="both";r=4;t=720, "both:concurrent";r=0 ` +
				`Ratelimit-Policy="both";q=5;w=3600, "both:concurrent";q=1;qu="concurrent-requests" ` +
				`X-Ratelimit-Limit=5 X-Ratelimit-Remaining=4`,
			`Ratelimit="both";r=4;t=720, "both:concurrent";r=0;t=1 ` +
				`Ratelimit-Policy="both";q=5;w=3600, "both:concurrent";q=1;qu="concurrent-requests" ` +
				`Retry-After=1 X-Ratelimit-Limit=1 X-Ratelimit-Remaining=0`},
	} {
		h := provisioned(t, keyed(test.name, test.zone))
		admitted, rejected := fly(t, h, "k", "/"), fly(t, h, "k", "/")
		if want := `{"error":{"code":"CONCURRENCY_LIMIT_EXCEEDED","message":"Limit of 1 concurrent request exceeded","details":` +
			`{"zone":"` + test.name + `","limit":1,"retry_after_seconds":1,"reset_at":"`; !strings.HasPrefix(rejected.w.Body.String(), want) {
			t.Errorf("body = %s, want %s...", rejected.w.Body, want)
		}
		admitted.end(answerOK)
		for _, f := range []struct {
			*flight
			want string
		}{{admitted, test.admitted}, {rejected, test.rejected}} {
			var got []string
			for _, name := range []string{"Ratelimit", "Ratelimit-Policy", "Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining"} {
				if v := f.w.Header().Get(name); v != "" {
					got = append(got, name+"="+v)
				}
			}
			if got := strings.Join(got, " "); got != f.want {
				t.Errorf("%s: headers = %s\nwant %s", test.name, got, f.want)
			}
		}
		u := h.requests.Zones[0].Usage
		sum := u.Sum()
		if a, r, c := sum.Admitted.Total(), sum.Rejected.Total(), u.ConcurrentRejected.Load(); a != 1 || r != 1 || c != 1 || !u.Concurrent.Load() {
			t.Errorf("%s: %d admitted, %d rejected, %d of them for requests at once, want 1 each", test.name, a, r, c)
		}
	}
}

// TestConcurrentDenialTakesNothing has requests that one of the two limits of a zone rejects.
func TestConcurrentDenialTakesNothing(t *testing.T) {
	h := provisioned(t, keyed("both-limits", `"concurrent": 1, "limit": "3/1000h"`))
	first := fly(t, h, "k", "/")
	for range 5 {
		if f := fly(t, h, "k", "/"); f.status() != 429 {
			t.Errorf("request beside another one = %d, want 429", f.status())
		}
	}
	first.end(answerOK)
	for i := range 2 { // the rate has 2 left
		f := fly(t, h, "k", "/")
		if f.status() != 0 {
			t.Errorf("request %d after that = %d, want it in flight", i+1, f.status())
		}
		f.end(answerOK)
	}
	// The rate denies these requests. They hold no permit.
	for range 2 {
		if f := fly(t, h, "k", "/"); f.status() != 429 || !strings.Contains(f.w.Body.String(), "RATE_LIMIT") {
			t.Errorf("request above the rate = %d %s, want 429 for the rate", f.status(), f.w.Body)
		}
	}
	if n := h.requests.Zones[0].Usage.InFlight.Load(); n != 0 {
		t.Errorf("%d requests are in flight after all have ended", n)
	}
}

// TestPermitIsHeldOnce has a request pass a zone in two handlers.
func TestPermitIsHeldOnce(t *testing.T) {
	config := keyed("held-once", `"concurrent": 1`)
	outer, inner := provisioned(t, config), provisioned(t, config)
	both := middleware(func(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
		return outer.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			return inner.ServeHTTP(w, r, next)
		}))
	})
	for range 2 {
		f := fly(t, both, "k", "/")
		if f.status() != 0 {
			t.Fatalf("request through two handlers = %d, want it in flight", f.status())
		}
		if f := fly(t, inner, "k", "/"); f.status() != 429 {
			t.Errorf("another request = %d, want 429", f.status())
		}
		f.end(answerOK)
	}
}

type middleware func(http.ResponseWriter, *http.Request, caddyhttp.Handler) error

func (m middleware) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return m(w, r, next)
}

// TestConcurrentDryRun counts what the zone would have rejected.
func TestConcurrentDryRun(t *testing.T) {
	h := provisioned(t, keyed("concurrent-dry", `"concurrent": 2, "dry_run": 1`))
	for range 5 {
		fly(t, h, "k", "/")
	}
	u := h.requests.Zones[0].Usage
	sum := u.Sum()
	if a, w, c := sum.Admitted.Total(), sum.WouldReject.Total(), u.ConcurrentRejected.Load(); a != 2 || w != 3 || c != 3 {
		t.Errorf("%d admitted, %d would be rejected, %d for requests at once, want 2, 3 and 3", a, w, c)
	}
}

// TestReloadKeepsFlights loads a configuration with another limit while requests are in flight.
func TestReloadKeepsFlights(t *testing.T) {
	earlier := provisioned(t, keyed("reloaded-flights", `"concurrent": 2`))
	first := fly(t, earlier, "k", "/")
	fly(t, earlier, "k", "/")
	later := provisioned(t, keyed("reloaded-flights", `"concurrent": 3`))
	if a, b := fly(t, later, "k", "/").status(), fly(t, later, "k", "/").status(); a != 0 || b != 429 {
		t.Errorf("requests after the reload = %d, %d, want one in flight and 429", a, b)
	}
	first.end(answerOK)
	if f := fly(t, later, "k", "/"); f.status() != 0 {
		t.Errorf("request after one has ended = %d, want it in flight", f.status())
	}
}
