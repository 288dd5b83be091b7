package gateway

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func statusAnswer(status int) caddyhttp.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(status); return nil }
}

// TestPermitAndStatusEndOnce has requests end in all the ways there are, in a zone that counts both
// requests at once and requests with a status. A permit that is released twice, or a reservation
// that is settled twice, would admit one request too many.
func TestPermitAndStatusEndOnce(t *testing.T) {
	for name, test := range map[string]struct {
		answer caddyhttp.HandlerFunc
		counts bool
	}{
		"a status that counts": {statusAnswer(401), true},
		"another status":       {answerOK, false},
		"nothing":              {func(http.ResponseWriter, *http.Request) error { return nil }, false},
		"an error":             {func(http.ResponseWriter, *http.Request) error { return errors.New("fails") }, false},
		"an error that counts": {func(http.ResponseWriter, *http.Request) error { return caddyhttp.Error(401, nil) }, true},
		"a panic":              {func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) }, true},
		"a late panic": {func(w http.ResponseWriter, r *http.Request) error {
			_ = answerOK(w, r)
			panic(http.ErrAbortHandler)
		}, false},
		"an upgrade": {statusAnswer(101), false},
		"a stream":   {func(w http.ResponseWriter, _ *http.Request) error { return http.NewResponseController(w).Flush() }, false},
	} {
		h := provisioned(t, keyed("ends-once-by-"+strings.ReplaceAll(name, " ", "-"),
			`"concurrent": 1, "limit": "2/1000h", "count_status": "401"`))
		for i := range 4 {
			first := fly(t, h, "k", "/")
			if test.counts && i >= 2 {
				if first.status() != 429 || !strings.Contains(first.w.Body.String(), "RATE_LIMIT_EXCEEDED") {
					t.Errorf("%s: request %d = %d %s, want 429 for the rate", name, i, first.status(), first.w.Body)
				}
				continue
			}
			if first.status() != 0 {
				t.Errorf("%s: request %d = %d %s, want it in flight", name, i, first.status(), first.w.Body)
			}
			if f := fly(t, h, "k", "/"); f.status() != 429 {
				t.Errorf("%s: a second request at once = %d, want 429", name, f.status())
			}
			first.end(test.answer)
			if n := h.requests.Zones[0].Usage.InFlight.Load(); n != 0 {
				t.Errorf("%s: %d requests are in flight after the end", name, n)
			}
			if n := undecided(h); n != 0 {
				t.Errorf("%s: %d keys have reservations that are undecided after the end", name, n)
			}
		}
	}
}

// TestPermitOfRequestThatWaits has a request wait for another one whose status is not known. The
// request is in flight while it waits.
func TestPermitOfRequestThatWaits(t *testing.T) {
	h := provisioned(t, keyed("waits-with-permit", `"concurrent": 2, "limit": "1/1000h", "count_status": "401"`))
	inFlight := h.requests.Zones[0].Usage.InFlight.Load
	await := func(n int64) {
		t.Helper()
		redistest.Eventually(t, "another number of requests in flight", func() bool { return inFlight() == n })
	}
	first, second := fly(t, h, "k", "/"), make(chan *flight)
	go func() { second <- fly(t, h, "k", "/") }()
	await(2)
	if f := fly(t, h, "k", "/"); f.status() != 429 {
		t.Errorf("a third request = %d, want 429", f.status())
	}
	first.end(answerOK)
	f := <-second
	if f.status() != 0 {
		t.Fatalf("the request that has waited = %d %s, want it in flight", f.status(), f.w.Body)
	}

	// The client of a third request leaves while the request waits.
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		r := benchRequest("k")
		left <- h.ServeHTTP(newBenchWriter(), r.WithContext(mergedContext{ctx, r.Context()}), caddyhttp.HandlerFunc(answerOK))
	}()
	await(2)
	leave()
	var failed caddyhttp.HandlerError
	if err := <-left; !errors.As(err, &failed) || failed.StatusCode != 499 {
		t.Errorf("error of a request whose client has left = %v, want 499", err)
	}
	await(1)
	f.end(statusAnswer(401))
	await(0)
	if f := fly(t, h, "k", "/"); f.status() != 429 || !strings.Contains(f.w.Body.String(), "RATE_LIMIT_EXCEEDED") {
		t.Errorf("request after one that counts = %d %s, want 429 for the rate", f.status(), f.w.Body)
	}
}

// A mergedContext ends with one context, and has the values of another.
type mergedContext struct {
	context.Context
	values context.Context
}

func (c mergedContext) Value(key any) any { return c.values.Value(key) }

// TestComparisonOfRejectedRequest compares a rule that counts by status with a rule that rejects
// the request. The status of the rejected request is not known: the request counts, and no
// reservation stays undecided.
func TestComparisonOfRejectedRequest(t *testing.T) {
	h := provisioned(t, keyed("compared-statuses",
		`"limit": "1/1000h", "count_status": "401", "compare": {"limit": "3/1000h"}`))
	fly(t, h, "k", "/").end(statusAnswer(401))
	for range 4 {
		if f := fly(t, h, "k", "/"); f.status() != 429 {
			t.Errorf("request above the limit = %d, want 429", f.status())
		}
	}
	c := &h.requests.Zones[0].Usage.Comparisons
	if both, compared, none := c.BothAdmit.Load(), c.ComparedAdmits.Load(), c.BothReject.Load(); both != 1 || compared != 2 || none != 2 {
		t.Errorf("%d are admitted by both rules, %d by the compared one, %d by none, want 1, 2 and 2", both, compared, none)
	}
	if n := undecided(h); n != 0 {
		t.Errorf("%d keys have reservations that are undecided, want none", n)
	}
}

// undecided returns how many keys have undecided reservations.
func undecided(h *Handler) int {
	return reflect.ValueOf(h.requests.Store.Reservations()).Elem().FieldByName("queues").Len()
}

// TestBlockBesideConcurrent has one zone block each request. The block does not touch another zone,
// which limits requests at once.
func TestBlockBesideConcurrent(t *testing.T) {
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {
		"flights": {"key": "{http.request.header.X-Api-Key}", "concurrent": 1},
		"blocked": {"key": "{http.request.header.X-Api-Key}", "limit": "block"}}}`)
	for range 3 {
		if f := fly(t, h, "k", "/"); f.status() != 429 || f.w.Header().Get("Ratelimit") == "" {
			t.Errorf("blocked request = %d, want 429", f.status())
		}
	}
	for _, z := range h.requests.Zones {
		want := uint64(0)
		if z.Name == "blocked" {
			want = 3
		}
		if n := z.Usage.Sum().Rejected.Total(); n != want {
			t.Errorf("zone %s has rejected %d, want %d", z.Name, n, want)
		}
	}
}

// TestDryRunOfBothTakesNothing has requests above a limit of requests at once in a dry run. The
// rate of the zone counts none of them, as it would not without the dry run.
func TestDryRunOfBothTakesNothing(t *testing.T) {
	h := provisioned(t, keyed("dry-both", `"concurrent": 1, "limit": "3/1000h", "dry_run": 1`))
	first := fly(t, h, "k", "/")
	for range 5 {
		fly(t, h, "k", "/").end(answerOK)
	}
	first.end(answerOK)
	for range 2 { // the rate has 2 left
		fly(t, h, "k", "/").end(answerOK)
	}
	sum := h.requests.Zones[0].Usage.Sum()
	if a, w := sum.Admitted.Total(), sum.WouldReject.Total(); a != 3 || w != 5 {
		t.Errorf("%d admitted, %d would be rejected, want 3 and 5", a, w)
	}
}
