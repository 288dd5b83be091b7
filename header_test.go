package fleetlimit

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

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

// headerRule returns a rule of 10 events per minute.
func headerRule(t *testing.T, zone string) *rule {
	t.Helper()
	made, err := limiter.NewRule(limiter.Rule{Limit: limiter.Limit{Events: 10, Window: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	r := &rule{Rule: made, window: time.Minute}
	r.texts = newRuleTexts(zone, r)
	return r
}

func TestHeaderValues(t *testing.T) {
	const at = limiter.Instant(1_767_225_600_000_000)
	admitted := limiter.Decision{OK: true, At: at, Limit: 10, Remaining: 7, RetryAt: at, ResetAt: at + 17_500_000}
	denied := limiter.Decision{At: at, Limit: 10, Remaining: 1, RetryAt: at + 5_000_000, ResetAt: at + 60_000_000}
	uncounted := limiter.Decision{OK: true, At: at, Limit: 10, Remaining: -1}
	a, b := headerRule(t, "a"), headerRule(t, "b")
	both := xHeaders | draftHeaders
	for _, tc := range []struct {
		name    string
		results []zoneResult
		want    map[string]string
	}{
		{"admitted", []zoneResult{{rule: a, decision: admitted, headers: both}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "7", "X-Ratelimit-Reset": "1767225618",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=7;t=18`,
		}},
		{"denied", []zoneResult{{rule: a, cost: 1, decision: denied, headers: both}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1767225660",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=0;t=5`,
		}},
		{"denied for its cost", []zoneResult{{rule: a, cost: 5, decision: denied, headers: both}}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "1", "X-Ratelimit-Reset": "1767225660",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=1;t=5`,
		}},
		{"two zones, one in an outage", []zoneResult{
			{rule: a, decision: uncounted, headers: both, outage: true}, {rule: b, decision: admitted, headers: both},
		}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "-1", "X-Ratelimit-Policy": "degraded",
			"Ratelimit-Policy": `"a";q=10;w=60, "b";q=10;w=60`, "Ratelimit": `"b";r=7;t=18`,
		}},
		{"handlers with different headers", []zoneResult{
			{rule: a, decision: denied, headers: draftHeaders}, {rule: b, decision: admitted, headers: xHeaders},
		}, map[string]string{
			"X-Ratelimit-Limit": "10", "X-Ratelimit-Remaining": "7", "X-Ratelimit-Reset": "1767225618",
			"Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=0;t=5`,
		}},
		{"draft alone", []zoneResult{{rule: a, decision: admitted, headers: draftHeaders}}, map[string]string{
			"X-Ratelimit-Limit": "theirs", "Ratelimit-Policy": `"a";q=10;w=60`, "Ratelimit": `"a";r=7;t=18`,
		}},
		{"none", []zoneResult{{rule: a, decision: admitted}}, map[string]string{
			"X-Ratelimit-Limit": "theirs", "Ratelimit": "theirs",
		}},
	} {
		state := requestState{results: slices.Clone(tc.results)}
		for i := range state.results {
			state.results[i].zone = &zone{usage: new(usage.Zone)}
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
