package fleetlimit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A scriptedStore answers as a test says: the real one cannot be made to fail for one request and not for the next.
type scriptedStore struct {
	err    error
	hangs  string // the zone that alone has the error; "": all have it
	answer limiter.Decision
	asked  []context.Context
}

func (s *scriptedStore) Take(ctx context.Context, _ limiter.Instant, takes []limiter.Take) error {
	s.asked = append(s.asked, ctx)
	for i := range takes {
		takes[i].Decision = s.answer
		if s.hangs == "" || s.hangs == takes[i].Rule.Zone.Name() {
			takes[i].Err = s.err
		}
	}
	return s.err
}

func (s *scriptedStore) Peek(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.Take(ctx, now, takes)
}

func (s *scriptedStore) Refund(context.Context, limiter.Instant, []limiter.Take) error {
	return s.err
}

var errStore = errors.New("dial tcp 192.0.2.1:6379: connection refused")

// scripted returns a handler that asks a store of the test's, and its log. The zones' tallies begin at 0.
func scripted(t *testing.T, config string, s *scriptedStore) (*Handler, *observer.ObservedLogs) {
	t.Helper()
	h := provisioned(t, config)
	h.app.store = &store{Store: s, name: "redis standalone 192.0.2.1:6379"}
	core, logs := observer.New(zapcore.InfoLevel)
	h.logger = zap.New(core)
	return h, logs
}

// served is what became of a request.
type served struct {
	status int // 0: it was handed on, and nothing was written
	err    error
	header http.Header
	repl   *caddy.Replacer
	passed bool // to the next handler
}

// serve sends a request through a handler and an upstream that has headers of its own.
func serve(t *testing.T, h *Handler, ctx context.Context, upstream http.Header) served {
	t.Helper()
	r := benchRequest("alice")
	repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	withValues := context.WithValue(ctx, caddy.ReplacerCtxKey, repl)
	withValues = context.WithValue(withValues, caddyhttp.VarsCtxKey, r.Context().Value(caddyhttp.VarsCtxKey))
	w := httptest.NewRecorder()
	got := served{repl: repl}
	got.err = h.ServeHTTP(w, r.WithContext(withValues), caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		got.passed = true
		maps.Copy(w.Header(), upstream)
		w.WriteHeader(http.StatusOK)
		return nil
	}))
	got.status, got.header = w.Code, w.Result().Header
	return got
}

func TestDegradedHeaders(t *testing.T) {
	ofUpstream := func() http.Header {
		return http.Header{
			"X-Ratelimit-Limit": {"1"}, "X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset": {"1"}, "X-Ratelimit-Policy": {"theirs"},
			"Ratelimit-Policy": {"theirs"}, "Ratelimit": {"theirs"},
		}
	}
	answer := limiter.Decision{OK: true, At: 10_000_000, Limit: 5, Remaining: 4, RetryAt: 10_000_000, ResetAt: 12_000_000}
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
				&scriptedStore{err: tc.err, answer: answer})
			earliest := limiter.At(time.Now().Add(2 * time.Second)).Unix()
			got := serve(t, h, t.Context(), ofUpstream())
			if got.err != nil || !got.passed {
				t.Fatalf("passed = %v with error %v, want the request handed on", got.passed, got.err)
			}
			// By this machine's clock, whatever that of the store says.
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

func TestDegradedZones(t *testing.T) {
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
	for _, z := range h.zones {
		if n := z.counters.degraded.Load(); n != 1 || z.counters.admitted.total() != 0 {
			t.Errorf("zone %s counts %d degraded and %d admitted, want 1 and 0", z.name, n, z.counters.admitted.total())
		}
	}
}

// TestOneZoneIsDegraded has the store decide for one of two zones alone: that one decides the request, and says what it knows.
func TestOneZoneIsDegraded(t *testing.T) {
	for _, ok := range []bool{true, false} {
		t.Run(fmt.Sprint("OK ", ok), func(t *testing.T) { testOneZoneIsDegraded(t, ok) })
	}
}

func testOneZoneIsDegraded(t *testing.T, ok bool) {
	s := &scriptedStore{err: errStore, hangs: "tenant", answer: limiter.Decision{
		OK: ok, At: 10_000_000, Limit: 5, Remaining: 0, RetryAt: 11_000_000, ResetAt: 12_000_000,
	}}
	h, logs := scripted(t, `{"log_rejections": "none", "rate_limits": {
			"tenant": {"key": "{http.request.header.X-Tenant}", "limit": {"events": 9, "window": "1m"}},
			"user":   {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}}}}`, s)
	got := serve(t, h, t.Context(), nil)
	want := map[string]string{"Ratelimit": `"user";r=0;t=2`, "X-Ratelimit-Remaining": "-1", "X-Ratelimit-Policy": "degraded"}
	tallies, warnings := map[string][3]uint64{"tenant": {0, 0, 1}, "user": {1, 0, 0}}, 1 // admitted, rejected, degraded
	if !ok {
		want = map[string]string{"Ratelimit": `"user";r=0;t=1`, "X-Ratelimit-Remaining": "0", "X-Ratelimit-Policy": "", "Retry-After": "1"}
		tallies, warnings = map[string][3]uint64{"tenant": {}, "user": {0, 1, 0}}, 0
	}
	if got.passed != ok {
		t.Errorf("handed on = %v", got.passed)
	}
	for name, value := range want {
		if got.header.Get(name) != value {
			t.Errorf("%s = %q, want %q", name, got.header.Get(name), value)
		}
	}
	for _, z := range h.zones {
		counts := [3]uint64{z.counters.admitted.total(), z.counters.rejected.total(), z.counters.degraded.Load()}
		if counts != tallies[z.name] {
			t.Errorf("zone %s admitted, rejected and degraded %d, want %d", z.name, counts, tallies[z.name])
		}
	}
	if logs.Len() != warnings {
		t.Errorf("log = %v, want %d warnings", logs.All(), warnings)
	}
}

// TestBlockNeedsNoStore: a rule that rejects everything does so whether or not the store answers.
func TestBlockNeedsNoStore(t *testing.T) {
	h, _ := scripted(t, `{"rate_limits": {
		"banned": {"key": "all", "limit": {"block": true}},
		"user":   {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}}}}`,
		&scriptedStore{err: errStore})
	got := serve(t, h, t.Context(), nil)
	if got.status != http.StatusTooManyRequests || got.passed {
		t.Fatalf("status = %d, handed on = %v, want 429 and not", got.status, got.passed)
	}
	for name, want := range map[string]string{
		"X-RateLimit-Limit": "0", "X-RateLimit-Remaining": "0", "X-RateLimit-Policy": "", "Retry-After": "86400",
		"RateLimit": `"banned";r=0;t=86400`, "RateLimit-Policy": `"banned";q=0, "user";q=5;w=60`,
	} {
		if value := got.header.Get(name); value != want {
			t.Errorf("%s = %q, want %q", name, value, want)
		}
	}
	for _, z := range h.zones {
		rejected, degraded := z.counters.rejected.total(), z.counters.degraded.Load()
		if want := map[string]uint64{"banned": 1}[z.name]; rejected != want || degraded != 0 {
			t.Errorf("zone %s counts %d rejected and %d degraded, want %d and 0", z.name, rejected, degraded, want)
		}
	}
}

// TestWaitsGoByTheClockOfTheStore lets the store's clock be an hour off.
func TestWaitsGoByTheClockOfTheStore(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, 0, time.Hour} {
		at := limiter.At(time.Now().Add(off))
		s := &scriptedStore{answer: limiter.Decision{At: at, Limit: 5, RetryAt: at + 2_500_000, ResetAt: at + 30_000_000}}
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

// TestAbandonedRequest ends the request while the store is asked: that is neither an outage nor a way past the limit.
func TestAbandonedRequest(t *testing.T) {
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
			if !errors.As(got.err, &failed) || failed.StatusCode != tc.want || got.passed {
				t.Errorf("error = %v, handed on = %v, want status %d and not", got.err, got.passed, tc.want)
			}
			if len(s.asked) != 1 || s.asked[0].Err() == nil {
				t.Errorf("the store was asked %d times, want once, with the context of the request", len(s.asked))
			}
			if n := h.zones[0].counters.degraded.Load(); n != 0 || logs.Len() != 0 {
				t.Errorf("%d degraded and log %v, want none", n, logs.All())
			}
		})
	}
}

// TestOutageIsLoggedOnce fails and answers in turns, on a clock of its own.
func TestOutageIsLoggedOnce(t *testing.T) {
	s := &scriptedStore{answer: limiter.Decision{OK: true, Limit: 5, Remaining: 4}}
	h, logs := scripted(t, `{"rate_limits": {
		"user": {"key": "{http.request.header.X-Api-Key}", "limit": {"events": 5, "window": "1m"}}}}`, s)
	synctest.Test(t, func(t *testing.T) {
		ask := func(n int, err error) {
			s.err = err
			for range n {
				serve(t, h, t.Context(), nil)
				time.Sleep(time.Millisecond)
			}
		}
		ask(10, nil)
		ask(10, redisconn.ErrClosed) // of a configuration that has ended
		if got := logs.Len(); got != 0 {
			t.Fatalf("lines before the outage = %v, want none", logs.All())
		}
		ask(1000, errStore)
		ask(10, nil)
		ask(10, errStore)
		lines := logs.TakeAll()
		if len(lines) != 1 || lines[0].Level != zapcore.WarnLevel || lines[0].ContextMap()["error"] != errStore.Error() ||
			lines[0].ContextMap()["store"] != "redis standalone 192.0.2.1:6379" {
			t.Fatalf("lines of the outage = %v, want one warning with the store and the error", lines)
		}
		time.Sleep(quietAfter)
		ask(1000, nil)
		lines = logs.TakeAll()
		if len(lines) != 1 || lines[0].Level != zapcore.InfoLevel || lines[0].ContextMap()["uncounted"] != uint64(1010) {
			t.Errorf("lines afterwards = %v, want one that says 1010 requests were not counted", lines)
		}
	})
}

func TestUnusedSettingsAreWarnedAbout(t *testing.T) {
	const config = `{"allow": ["192.0.2.0/24"], "distributed": {}, "storage": {"module": "file_system"}}`
	for _, tc := range []struct {
		name  string
		redis *Redis
		want  []string
	}{
		{"memory", nil, []string{"counts are per node: N nodes admit N times the limit", "in the memory of this process"}},
		{"redis", new(Redis), []string{"the nodes share their counts in Redis", "counts live in Redis"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, logs := scripted(t, config, new(scriptedStore))
			h.app.Redis = tc.redis
			h.warnUnused()
			for i, line := range logs.All() {
				if !strings.Contains(line.Message, tc.want[i]) {
					t.Errorf("warning %d = %q, want one that says %q", i, line.Message, tc.want[i])
				}
			}
			if logs.Len() != len(tc.want) {
				t.Errorf("warnings = %d, want %d", logs.Len(), len(tc.want))
			}
		})
	}
}
