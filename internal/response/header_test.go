package response

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/usage"
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

func TestHeaderValues(t *testing.T) {
	const at = limiter.Instant(1_767_225_600_000_000)
	admitted := limiter.Decision{OK: true, At: at, Limit: 10, Remaining: 7, RetryAt: at, ResetAt: at + 17_500_000}
	denied := limiter.Decision{At: at, Limit: 10, Remaining: 1, RetryAt: at + 5_000_000, ResetAt: at + 60_000_000}
	uncounted := limiter.Decision{OK: true, At: at, Limit: 10, Remaining: -1}
	a, b := headerPolicy(t, "a"), headerPolicy(t, "b")
	both, x, draft := NewHeaders("all"), NewHeaders("x"), NewHeaders("draft")
	for _, tc := range []struct {
		name    string
		results []Result
		want    map[string]string
	}{
		{"admitted", []Result{{Policy: a, Decision: admitted, Headers: both}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "7", "X-Ratelimit-Reset": "1767225618",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=7;t=18`,
		}},
		{"denied", []Result{{Policy: a, Cost: 1, Decision: denied, Headers: both}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1767225660",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=0;t=5`,
		}},
		{"denied for its cost", []Result{{Policy: a, Cost: 5, Decision: denied, Headers: both}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "1", "X-Ratelimit-Reset": "1767225660",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=1;t=5`,
		}},
		{"two zones, one in an outage", []Result{
			{Policy: a, Decision: uncounted, Headers: both, Outage: true}, {Policy: b, Decision: admitted, Headers: both},
		}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "-1", "X-Ratelimit-Policy": "degraded",
			"Ratelimit-Policy": `"a";q=10;w=60, "b";q=10;w=60`, "Ratelimit": `"b";r=7;t=18`,
		}},
		{"handlers with different headers", []Result{
			{Policy: a, Decision: denied, Headers: draft}, {Policy: b, Decision: admitted, Headers: x},
		}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "7", "X-Ratelimit-Reset": "1767225618",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=0;t=5`,
		}},
		{"draft alone", []Result{{Policy: a, Decision: admitted, Headers: draft}}, map[string]string{
			"X-Ratelimit-Limit": "theirs", "Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=7;t=18`,
		}},
		{"none", []Result{{Policy: a, Decision: admitted}}, map[string]string{
			"X-Ratelimit-Limit": "theirs", "Ratelimit": "theirs",
		}},
	} {
		state := State{Results: slices.Clone(tc.results)}
		for i := range state.Results {
			state.Results[i].Zone = new(usage.Zone)
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
