package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// shedding is a handler with a zone that has two requests in flight at most, and more settings.
func shedding(name, more string) string {
	return `{"log_rejections": "none", "rate_limits": {"` + name + `": {"adaptive": {"min": 1, "max": 2}` + more + `}}}`
}

const ofKeys = `, "key": "{http.request.header.X-Api-Key}"`

// TestOverloaded checks what a request gets for which the upstream has no room, and what counts it.
func TestOverloaded(t *testing.T) {
	for _, test := range []struct{ reject, want string }{
		{"json", `{"error":{"code":"OVERLOADED","message":"The service is overloaded","details":{"zone":"overloaded-json","reason":"overloaded"}}}` + "\n"},
		{"problem", `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Service Unavailable",` +
			`"status":503,"detail":"The service is overloaded","zone":"overloaded-problem","reason":"overloaded"}` + "\n"},
	} {
		h := provisioned(t, strings.Replace(shedding("overloaded-"+test.reject, ""), `{"log`, `{"reject": "`+test.reject+`", "log`, 1))
		first, second := fly(t, h, "a", "/"), fly(t, h, "b", "/")
		third := fly(t, h, "c", "/")
		if first.status() != 0 || second.status() != 0 || third.status() != http.StatusServiceUnavailable {
			t.Fatalf("three requests at once = %d, %d, %d, want two in flight and 503", first.status(), second.status(), third.status())
		}
		if body := third.w.Body.String(); body != test.want {
			t.Errorf("body = %s, want %s", body, test.want)
		}
		header := third.w.Header()
		if header.Get("Retry-After") != "1" || header.Get("Cache-Control") != "no-store" || header.Get("Ratelimit") != "" {
			t.Errorf("headers = %v, want Retry-After 1 and no limit", header)
		}
		u := h.requests.Zones[0].Usage
		if n := u.Adaptive.Load().InFlight(); n != 2 {
			t.Errorf("%d requests are in flight, want 2", n)
		}
		first.end(answerOK)
		second.end(answerOK)
		fly(t, h, "c", "/").end(answerOK)
		if a, o, d := u.Sum().Admitted.Total(), u.Overloaded.Load(), u.Denied.Load(); a != 3 || o != 1 || d != 0 {
			t.Errorf("%d admitted, %d overloaded, %d denied, want 3, 1 and 0", a, o, d)
		}
	}
}

// TestAdaptiveIsReleased has requests end in all the ways there are. A stream is not in flight any
// more once it has begun.
func TestAdaptiveIsReleased(t *testing.T) {
	h := provisioned(t, shedding("adaptive-released", ""))
	l := h.requests.Zones[0].Adaptive
	for name, answer := range map[string]caddyhttp.HandlerFunc{
		"a response": answerOK,
		"an error":   func(http.ResponseWriter, *http.Request) error { return caddyhttp.Error(502, http.ErrHandlerTimeout) },
		"a panic":    func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) },
		"an upgrade": func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(101)
			if n := l.InFlight(); n != 0 {
				t.Errorf("%d requests are in flight while a connection is upgraded, want 0", n)
			}
			return nil
		},
		"a stream of events": func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "Text/Event-Stream; charset=utf-8")
			w.WriteHeader(200)
			if n := l.InFlight(); n != 0 {
				t.Errorf("%d requests are in flight while events are streamed, want 0", n)
			}
			return nil
		},
		"another stream": func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(200)
			if n := l.InFlight(); n != 1 {
				t.Errorf("%d requests are in flight in the middle of a response, want 1", n)
			}
			return nil
		},
	} {
		if f := fly(t, h, "k", "/"); f.status() != 0 {
			t.Errorf("%s: request = %d, want it in flight", name, f.status())
		} else if f.end(answer); l.InFlight() != 0 {
			t.Errorf("%s: %d requests are in flight after all have ended", name, l.InFlight())
		}
	}
}

// The bound of an overload's Retry-After applies after the jitter, which makes it 2.
func TestRetryAfterOfOverload(t *testing.T) {
	for bound, most := range map[string]string{"": "2", "1s": "1", "1h": "2"} {
		settings := `{"jitter": 1, "max_retry_after": "` + bound + `", "log`
		if bound == "" {
			settings = `{"jitter": 1, "log`
		}
		h := provisioned(t, strings.Replace(shedding("overloaded-at-most-"+bound, ""), `{"log`, settings, 1))
		first, second := fly(t, h, "a", "/"), fly(t, h, "b", "/")
		longest := ""
		for range 20 {
			longest = max(longest, fly(t, h, "c", "/").w.Header().Get("Retry-After"))
		}
		if longest != most {
			t.Errorf("with a bound of %q, the longest Retry-After = %s, want %s", bound, longest, most)
		}
		first.end(answerOK)
		second.end(answerOK)
	}
}

// TestOverloadBesideLimits has requests for which the upstream has no room, and others that a limit
// rejects. Requests without room take nothing from the limit, and rejected requests take no place.
func TestOverloadBesideLimits(t *testing.T) {
	h := provisioned(t, shedding("adaptive-both", ofKeys+`, "limit": "3/1000h"`))
	first, second := fly(t, h, "a", "/"), fly(t, h, "a", "/")
	for range 5 {
		if f := fly(t, h, "a", "/"); f.status() != http.StatusServiceUnavailable {
			t.Errorf("request above the number at once = %d, want 503", f.status())
		}
	}
	first.end(answerOK)
	second.end(answerOK)
	if f := fly(t, h, "a", "/"); f.status() != 0 {
		t.Errorf("third request of 3 = %d, want it in flight", f.status())
	} else {
		f.end(answerOK)
	}
	if f := fly(t, h, "a", "/"); f.status() != http.StatusTooManyRequests {
		t.Errorf("request above the limit = %d, want 429", f.status())
	}
	if n := h.requests.Zones[0].Adaptive.InFlight(); n != 0 {
		t.Errorf("%d requests are in flight after all have ended", n)
	}
}

// TestAdaptiveDryRun counts what the zone would have refused.
func TestAdaptiveDryRun(t *testing.T) {
	h := provisioned(t, shedding("adaptive-dry", `, "dry_run": 1`))
	for range 5 {
		fly(t, h, "k", "/")
	}
	u := h.requests.Zones[0].Usage
	if a, w, o := u.Sum().Admitted.Total(), u.WouldDeny.Load(), u.Overloaded.Load(); a != 2 || w != 3 || o != 0 {
		t.Errorf("%d admitted, %d would be refused, %d overloaded, want 2, 3 and 0", a, w, o)
	}
}

// TestAdaptiveIsHeldOnce has a request pass a zone in two handlers.
func TestAdaptiveIsHeldOnce(t *testing.T) {
	config := shedding("adaptive-once", "")
	outer, inner := provisioned(t, config), provisioned(t, config)
	both := middleware(func(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
		return outer.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			return inner.ServeHTTP(w, r, next)
		}))
	})
	first, second := fly(t, both, "k", "/"), fly(t, both, "k", "/")
	if third := fly(t, inner, "k", "/"); first.status() != 0 || second.status() != 0 || third.status() != 503 {
		t.Errorf("three requests = %d, %d, %d, want two in flight and 503", first.status(), second.status(), third.status())
	}
	if n := inner.requests.Zones[0].Usage.Sum().Admitted.Total(); n != 2 {
		t.Errorf("%d requests are counted, want 2: each passes the zone twice", n)
	}
}

// TestReloadKeepsAdaptive loads a configuration again, and then one with other settings.
func TestReloadKeepsAdaptive(t *testing.T) {
	earlier := provisioned(t, shedding("adaptive-reloaded", ""))
	fly(t, earlier, "k", "/")
	later := provisioned(t, shedding("adaptive-reloaded", `, "dry_run": 0.5`))
	if earlier.requests.Zones[0].Adaptive != later.requests.Zones[0].Adaptive {
		t.Error("a reload has lost what was learned")
	}
	other := provisioned(t, strings.Replace(shedding("adaptive-reloaded", ""), `"max": 2`, `"max": 3`, 1))
	if l := other.requests.Zones[0].Adaptive; l.Limit() != 3 || other.requests.Zones[0].Usage.Adaptive.Load() != l {
		t.Errorf("limit with other settings = %d, want 3", l.Limit())
	}
}

// TestAdaptiveOfErrorRoute has a request pass a zone once more after its response has ended, as in
// an error route. It is limited there, too.
func TestAdaptiveOfErrorRoute(t *testing.T) {
	h := provisioned(t, shedding("adaptive-again", ""))
	l := h.requests.Zones[0].Adaptive
	fails := caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return caddyhttp.Error(502, http.ErrHandlerTimeout) })
	again := middleware(func(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
		_ = h.ServeHTTP(w, r, fails)
		return h.ServeHTTP(w, r, next)
	})
	if f := fly(t, again, "k", "/"); f.status() != 0 || l.InFlight() != 1 {
		t.Errorf("status %d, %d in flight, want one in flight", f.status(), l.InFlight())
	} else if f.end(answerOK); l.InFlight() != 0 {
		t.Errorf("%d requests are in flight after all have ended", l.InFlight())
	}
}
