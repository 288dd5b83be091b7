package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetlimit/fleetlimit/internal/fleet/stores"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
)

// A scriptedStore returns a decision that the test sets. A real store cannot be made to fail for
// one request and not for the next.
type scriptedStore struct {
	*stores.Store // nil if nothing is reserved

	err      error
	failing  string // the only zone whose takes fail; "" if all fail
	decision limiter.Decision
	takes    []context.Context // the contexts of the requests that took
	noted    []error
}

func (s *scriptedStore) Take(ctx context.Context, _ time.Time, takes []limiter.Take) error {
	s.takes = append(s.takes, ctx)
	for i := range takes {
		takes[i].Decision = s.decision
		if s.failing == "" || s.failing == takes[i].Rule.Zone.Name() {
			takes[i].Err = s.err
		}
	}
	return s.err
}

func (s *scriptedStore) Peek(ctx context.Context, now time.Time, takes []limiter.Take) error {
	return s.Take(ctx, now, takes)
}

func (s *scriptedStore) Acquire(ctx context.Context, _ time.Time, _ *concurrency.Rule, _ []byte) (
	concurrency.Permit, limiter.Decision, error,
) {
	s.takes = append(s.takes, ctx)
	return concurrency.Permit{}, s.decision, s.err
}

func (s *scriptedStore) PeekPermit(time.Time, *concurrency.Rule, []byte) limiter.Decision {
	return s.decision
}

func (s *scriptedStore) PreviewPermit(context.Context, time.Time, *concurrency.Rule, []byte) (limiter.Decision, error) {
	return s.decision, s.err
}

func (s *scriptedStore) Preview(ctx context.Context, now time.Time, takes []limiter.Take) error {
	return s.Take(ctx, now, takes)
}

func (s *scriptedStore) Note(_ time.Time, err error) { s.noted = append(s.noted, err) }

var errStore = errors.New("dial tcp 192.0.2.1:6379: connection refused")

// scripted returns a handler that takes from s, and its log.
func scripted(t *testing.T, config string, s *scriptedStore) (*Handler, *observer.ObservedLogs) {
	t.Helper()
	h := provisioned(t, config)
	h.requests.Store = s
	core, logs := observer.New(zapcore.InfoLevel)
	h.log.Logger = zap.New(core)
	return h, logs
}

// served is what became of a request.
type served struct {
	status   int
	err      error
	header   http.Header
	body     string
	repl     *caddy.Replacer
	admitted bool // the next handler was called
}

// serve sends a request through a handler to an upstream with the given headers.
func serve(t *testing.T, h *Handler, ctx context.Context, upstream http.Header) served {
	t.Helper()
	r := benchRequest("alice")
	repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	withValues := context.WithValue(ctx, caddy.ReplacerCtxKey, repl)
	withValues = context.WithValue(withValues, caddyhttp.VarsCtxKey, r.Context().Value(caddyhttp.VarsCtxKey))
	w := httptest.NewRecorder()
	got := served{repl: repl}
	got.err = h.ServeHTTP(w, r.WithContext(withValues), caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		got.admitted = true
		maps.Copy(w.Header(), upstream)
		w.WriteHeader(http.StatusOK)
		return nil
	}))
	got.status, got.header, got.body = w.Code, w.Result().Header, w.Body.String()
	return got
}

func TestOutageHeaders(t *testing.T) {
	ofUpstream := func() http.Header {
		return http.Header{
			"X-Ratelimit-Limit": {"1"}, "X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset": {"1"}, "X-Ratelimit-Policy": {"theirs"},
			"Ratelimit-Policy": {"theirs"}, "Ratelimit": {"theirs"},
		}
	}
	decision := limiter.Decision{OK: true, At: 10_000_000, Limit: 5, Remaining: 4, RetryAt: 10_000_000, ResetAt: 12_000_000}
	for _, tc := range []struct {
		name, headers string
		err           error
		want          http.Header
	}{
		{"all", "all", errStore, http.Header{
			"X-Ratelimit-Limit": {"5"}, "X-Ratelimit-Remaining": {"-1"}, "X-Ratelimit-Policy": {"degraded"},
			"Ratelimit-Policy": {`"user";q=5;w=60`},
		}},
		{"x", "x", errStore, http.Header{
			"X-Ratelimit-Limit": {"5"}, "X-Ratelimit-Remaining": {"-1"}, "X-Ratelimit-Policy": {"degraded"},
			"Ratelimit-Policy": {"theirs"}, "Ratelimit": {"theirs"},
		}},
		{"draft", "draft", errStore, http.Header{
			"X-Ratelimit-Limit": {"1"}, "X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset": {"1"}, "X-Ratelimit-Policy": {"theirs"},
			"Ratelimit-Policy": {`"user";q=5;w=60`},
		}},
		{"none", "none", errStore, ofUpstream()},
		{"the store answers", "all", nil, http.Header{
			"X-Ratelimit-Limit": {"5"}, "X-Ratelimit-Remaining": {"4"}, "X-Ratelimit-Reset": {"in 2 s"},
			"Ratelimit-Policy": {`"user";q=5;w=60`}, "Ratelimit": {`"user";r=4;t=2`},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, _ := scripted(t, `{"headers": "`+tc.headers+`", "rate_limits": {
				"user": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}}}}`,
				&scriptedStore{err: tc.err, decision: decision})
			earliest := limiter.At(time.Now().Add(2 * time.Second)).Unix()
			got := serve(t, h, t.Context(), ofUpstream())
			if got.err != nil || !got.admitted {
				t.Fatalf("admitted = %v, error = %v, want true, nil", got.admitted, got.err)
			}
			// The reset is an instant of this machine's clock, not of the store's.
			reset, _ := strconv.ParseInt(got.header.Get("X-RateLimit-Reset"), 10, 64)
			if reset >= earliest && reset <= limiter.At(time.Now().Add(2*time.Second)).Unix() {
				got.header.Set("X-RateLimit-Reset", "in 2 s")
			}
			if !maps.EqualFunc(got.header, tc.want, func(a, b []string) bool { return strings.Join(a, "|") == strings.Join(b, "|") }) {
				t.Errorf("headers = %v\nwant      %v", got.header, tc.want)
			}
		})
	}
}

func TestOutageOfAllZones(t *testing.T) {
	h, _ := scripted(t, `{"rate_limits": {
		"tenant": {"key": "{http.request.header.X-Tenant}", "limit": {"events": 9, "window": "1m"}},
		"user":   {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}}}}`,
		&scriptedStore{err: errStore})
	got := serve(t, h, t.Context(), nil)
	if want := `"tenant";q=9;w=60, "user";q=5;w=60`; got.header.Get("RateLimit-Policy") != want || got.header["Ratelimit"] != nil {
		t.Errorf("headers = %v, want the policy %s and no RateLimit", got.header, want)
	}
	for name, want := range map[string]string{
		"user.limit": "5", "user.remaining": "-1", "user.reset": "", "user.source": "degraded", "exceeded.name": "",
	} {
		if value, known := got.repl.GetString("http.rate_limit." + name); value != want || !known {
			t.Errorf("placeholder %s = %q (known: %v), want %q", name, value, known, want)
		}
	}
	for _, z := range h.requests.Zones {
		if n := z.Usage.Sum().Outage.Total(); n != 1 || z.Usage.Sum().Admitted.Total() != 0 {
			t.Errorf("zone %s counts %d in the outage and %d admitted, want 1 and 0", z.Name, n, z.Usage.Sum().Admitted.Total())
		}
	}
}

// If the store decides for only one of two zones, that zone decides the request.
func TestOutageOfOneZone(t *testing.T) {
	for _, ok := range []bool{true, false} {
		t.Run(fmt.Sprint("OK ", ok), func(t *testing.T) { testOutageOfOneZone(t, ok) })
	}
}

func testOutageOfOneZone(t *testing.T, ok bool) {
	s := &scriptedStore{err: errStore, failing: "tenant", decision: limiter.Decision{
		OK: ok, At: 10_000_000, Limit: 5, Remaining: 0, RetryAt: 11_000_000, ResetAt: 12_000_000,
	}}
	h, _ := scripted(t, `{"log_rejections": "none", "rate_limits": {
			"tenant": {"key": "{http.request.header.X-Tenant}", "limit": {"events": 9, "window": "1m"}},
			"user":   {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}}}}`, s)
	got := serve(t, h, t.Context(), nil)
	want := map[string]string{"Ratelimit": `"user";r=0;t=2`, "X-Ratelimit-Remaining": "-1", "X-Ratelimit-Policy": "degraded"}
	counters, noted := map[string][3]uint64{"tenant": {0, 0, 1}, "user": {1, 0, 0}}, []error{errStore} // admitted, rejected, outage
	if !ok {
		want = map[string]string{"Ratelimit": `"user";r=0;t=1`, "X-Ratelimit-Remaining": "0", "X-Ratelimit-Policy": "", "Retry-After": "1"}
		counters, noted = map[string][3]uint64{"tenant": {}, "user": {0, 1, 0}}, nil
	}
	if got.admitted != ok {
		t.Errorf("admitted = %v, want %v", got.admitted, ok)
	}
	for name, value := range want {
		if got.header.Get(name) != value {
			t.Errorf("%s = %q, want %q", name, got.header.Get(name), value)
		}
	}
	for _, z := range h.requests.Zones {
		counts := [3]uint64{z.Usage.Sum().Admitted.Total(), z.Usage.Sum().Rejected.Total(), z.Usage.Sum().Outage.Total()}
		if counts != counters[z.Name] {
			t.Errorf("zone %s: admitted, rejected, outage = %d, want %d", z.Name, counts, counters[z.Name])
		}
	}
	if !slices.Equal(s.noted, noted) {
		t.Errorf("noted %v, want %v", s.noted, noted)
	}
}

// A rule that rejects every request rejects it in an outage, too.
func TestOutageDoesNotLiftBlock(t *testing.T) {
	h, _ := scripted(t, `{"rate_limits": {
		"banned": {"key": "all", "limit": {"block": true}},
		"user":   {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}}}}`,
		&scriptedStore{err: errStore})
	got := serve(t, h, t.Context(), nil)
	if got.status != http.StatusTooManyRequests || got.admitted {
		t.Fatalf("status = %d, admitted = %v, want 429, false", got.status, got.admitted)
	}
	for name, want := range map[string]string{
		"X-RateLimit-Limit": "0", "X-RateLimit-Remaining": "0", "X-RateLimit-Policy": "", "Retry-After": "86400",
		"RateLimit": `"banned";r=0;t=86400`, "RateLimit-Policy": `"banned";q=0, "user";q=5;w=60`,
	} {
		if value := got.header.Get(name); value != want {
			t.Errorf("%s = %q, want %q", name, value, want)
		}
	}
	for _, z := range h.requests.Zones {
		rejected, outage := z.Usage.Sum().Rejected.Total(), z.Usage.Sum().Outage.Total()
		if want := map[string]uint64{"banned": 1}[z.Name]; rejected != want || outage != 0 {
			t.Errorf("zone %s: rejected, outage = %d, %d, want %d, 0", z.Name, rejected, outage, want)
		}
	}
}

// A wait does not depend on the difference between the clocks of the store and of this machine.
func TestWaitWithStoreClockOff(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, 0, time.Hour} {
		at := limiter.At(time.Now().Add(off))
		s := &scriptedStore{decision: limiter.Decision{At: at, Limit: 5, RetryAt: at + 2_500_000, ResetAt: at + 30_000_000}}
		h, _ := scripted(t, `{"rate_limits": {
			"user": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}}}}`, s)
		got := serve(t, h, t.Context(), nil)
		if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "3" ||
			got.header.Get("RateLimit") != `"user";r=0;t=3` {
			t.Errorf("with the store's clock off by %v: %d, Retry-After %q, RateLimit %q, want 429, 3, \"user\";r=0;t=3",
				off, got.status, got.header.Get("Retry-After"), got.header.Get("RateLimit"))
		}
	}
}

// A request that ends while the store decides is neither an outage nor admitted.
func TestClientGone(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancelLate()
	for _, tc := range []struct {
		name string
		ctx  context.Context
		want int
	}{{"canceled", canceled, 499}, {"deadline", late, http.StatusGatewayTimeout}} {
		t.Run(tc.name, func(t *testing.T) {
			s := &scriptedStore{err: tc.ctx.Err()}
			h, logs := scripted(t, `{"rate_limits": {
				"user": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}}}}`, s)
			got := serve(t, h, tc.ctx, nil)
			var failed caddyhttp.HandlerError
			if !errors.As(got.err, &failed) || failed.StatusCode != tc.want || got.admitted {
				t.Errorf("error = %v, admitted = %v, want status %d, false", got.err, got.admitted, tc.want)
			}
			if len(s.takes) != 1 || s.takes[0].Err() == nil {
				t.Errorf("takes = %d, want 1, with the context of the request", len(s.takes))
			}
			if n := h.requests.Zones[0].Usage.Sum().Outage.Total(); n != 0 || logs.Len() != 0 || len(s.noted) != 0 {
				t.Errorf("requests counted in the outage = %d, log = %v, noted %v, want none", n, logs.All(), s.noted)
			}
		})
	}
}
