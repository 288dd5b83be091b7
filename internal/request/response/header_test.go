package response

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestStructuredString(t *testing.T) {
	for name, want := range map[string]string{
		"user":      `"user"`,
		`a"b\c`:     `"a\"b\\c"`,
		"größe\tx~": `"gr??e?x~"`,
		"":          `""`,
	} {
		if got := structuredString(name); got != want {
			t.Errorf("structuredString(%q) = %s, want %s", name, got, want)
		}
	}
}

// headerPolicy returns a policy of 10 events per minute.
func headerPolicy(t *testing.T, zone string) *Policy {
	t.Helper()
	made, err := limiter.NewRule(limiter.Rule{Limit: limiter.Limit{Events: 10, Window: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPolicy(zone, made, &config.Limit{Window: caddy.Duration(time.Minute)})
	return &p
}

// settings returns the settings of a handler.
func settings(headers string, maxRetryAfter time.Duration) *Settings {
	return NewSettings(&config.Handler{Headers: headers, MaxRetryAfter: caddy.Duration(maxRetryAfter)}, config.Defaults{})
}

func TestHeaderValues(t *testing.T) {
	const at = limiter.Instant(1_767_225_600_000_000)
	admitted := limiter.Decision{OK: true, At: at, Limit: 10, Remaining: 7, RetryAt: at, ResetAt: at + 17_500_000}
	denied := limiter.Decision{At: at, Limit: 10, Remaining: 1, RetryAt: at + 5_000_000, ResetAt: at + 60_000_000}
	last := limiter.Decision{OK: true, At: at, Limit: 10, RetryAt: at, ResetAt: at + 60_000_000}
	uncounted := limiter.Decision{OK: true, At: at, Limit: 10, Remaining: -1}
	a, b := headerPolicy(t, "a"), headerPolicy(t, "b")
	both, x, draft := settings("all", 0), settings("x", 0), settings("draft", 0)
	bounded := settings("all", 4*time.Second)
	for _, tc := range []struct {
		name    string
		results []Result
		want    map[string]string
	}{
		{"admitted", []Result{{Policy: a, Decision: admitted, Settings: both}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "7", "X-Ratelimit-Reset": "1767225618",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=7;t=18`,
		}},
		{"denied", []Result{{Policy: a, Cost: 1, Decision: denied, Settings: both}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1767225660",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=0;t=5`,
		}},
		{"denied for its cost", []Result{{Policy: a, Cost: 5, Decision: denied, Settings: both}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "1", "X-Ratelimit-Reset": "1767225660",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=1;t=5`,
		}},
		{"two zones, one in an outage", []Result{
			{Policy: a, Decision: uncounted, Settings: both, Failure: limiter.ErrLate}, {Policy: b, Decision: admitted, Settings: both},
		}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "-1", "X-Ratelimit-Policy": "degraded",
			"Ratelimit-Policy": `"a";q=10;w=60, "b";q=10;w=60`, "Ratelimit": `"b";r=7;t=18`,
		}},
		{"handlers with different headers", []Result{
			{Policy: a, Decision: denied, Settings: draft}, {Policy: b, Decision: admitted, Settings: x},
		}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "7", "X-Ratelimit-Reset": "1767225618",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=0;t=5`,
		}},
		{"draft alone", []Result{{Policy: a, Decision: admitted, Settings: draft}}, map[string]string{
			"X-Ratelimit-Limit": "theirs", "Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=7;t=18`,
		}},
		{"denied, with a bound", []Result{{Policy: a, Cost: 1, Decision: denied, Settings: bounded}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1767225660",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=0;t=4`,
		}},
		{"denied for its cost, with a bound", []Result{{Policy: a, Cost: 5, Decision: denied, Settings: bounded}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "1", "X-Ratelimit-Reset": "1767225660",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=1;t=4`,
		}},
		{"the last one admitted, with a bound", []Result{{Policy: a, Decision: last, Settings: bounded}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1767225660",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=0;t=4`,
		}},
		{"a bound does not hurry clients that have something left", []Result{{Policy: a, Decision: admitted, Settings: bounded}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "7", "X-Ratelimit-Reset": "1767225618",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=7;t=18`,
		}},
		{"the bound is of one handler", []Result{
			{Policy: a, Cost: 1, Decision: denied, Settings: bounded}, {Policy: b, Decision: last, Settings: draft},
		}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1767225660",
			"Ratelimit-Policy": `"a";q=10;w=60, "b";q=10;w=60`, "Ratelimit": `"a";r=0;t=4, "b";r=0;t=60`,
		}},
		{"none", []Result{{Policy: a, Decision: admitted, Settings: settings("none", 0)}}, map[string]string{
			"X-Ratelimit-Limit": "theirs", "Ratelimit": "theirs",
		}},
	} {
		state := State{Results: slices.Clone(tc.results)}
		for i := range state.Results {
			state.Results[i].ZoneResponses = &ZoneResponses{Usage: new(usage.ZoneCounters)}
		}
		state.formatHeaders(0, nil, 0)
		h := http.Header{"X-Ratelimit-Limit": {"theirs"}, "Ratelimit": {"theirs"}}
		state.headers.write(h, new(http.Request))
		got := make(map[string]string)
		for name, values := range h {
			got[name] = values[0]
		}
		if !maps.Equal(got, tc.want) {
			t.Errorf("%s: headers = %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tc := range []struct {
		wait, bound time.Duration
		want        int64
	}{
		{0, 0, 1},
		{time.Millisecond, 0, 1},
		{time.Second, 0, 1},
		{time.Second + 1, 0, 2},
		{24 * time.Hour, 0, 86400},
		{24 * time.Hour, time.Hour, 3600},
		{time.Hour, time.Hour, 3600},
		{time.Hour - 1, time.Hour, 3600},
		{time.Hour - time.Second, time.Hour, 3599},
		{1500 * time.Millisecond, time.Second, 1},
		{0, time.Second, 1},
		{2 * limiter.MaxWindow, limiter.MaxWindow, 315_360_000},
	} {
		for _, headers := range []string{"all", "x", "draft", "none"} {
			if got := settings(headers, tc.bound).retryAfter(tc.wait); got != tc.want {
				t.Errorf("headers %s: a wait of %v, at most %v, is told as %d s, want %d", headers, tc.wait, tc.bound, got, tc.want)
			}
		}
	}
}
