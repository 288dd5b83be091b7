package fleetlimit

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestOverrides(t *testing.T) {
	h := rulesHandler(t, "overridden")
	h.app.rulesInForce()
	putRules(t, h, `{"overrides": [
		{"id": "1", "zone": "overridden", "key": "all", "limit": "7/1h"},
		{"id": "2", "zone": "overridden", "key": "half", "multiplier": 0.5},
		{"id": "3", "zone": "overridden", "key": "one", "endpoint": "GET /search*", "multiplier": 2},
		{"id": "4", "zone": "overridden", "key": "both", "endpoint": "GET /search*", "limit": "8/1h"},
		{"id": "5", "zone": "overridden", "key": "both", "limit": "9/1h"},
		{"id": "6", "zone": "overridden", "key": "blocked", "limit": "block"},
		{"id": "7", "zone": "overridden", "key": "free", "limit": "unlimited"},
		{"id": "8", "zone": "overridden", "key": "pro-a", "multiplier": 1.5},
		{"id": "9", "zone": "overridden", "key": "ended", "limit": "9/1h", "expires_at": "2001-01-01T00:00:00Z"}]}`)
	for _, tc := range []struct {
		key          string
		rest, search int
		other        int // which is not limited
	}{
		{"all", 7, 7, 7}, {"half", 1, 3, 20}, {"one", 2, 10, 20}, {"both", 9, 8, 9}, {"blocked", 0, 0, 0},
		{"free", 20, 20, 20}, {"pro-a", 6, 9, 20}, {"ended", 2, 5, 20}, {"none", 2, 5, 20},
	} {
		for path, want := range map[string]int{"/": tc.rest, "/search": tc.search, "/other": tc.other} {
			if got := h.admitted(t, tc.key, path); got != want {
				t.Errorf("%d requests of %s to %s are admitted, want %d", got, tc.key, path, want)
			}
		}
	}
}

// A request whose cost is above the limit of an override would never pass.
func TestCostsFitOverrides(t *testing.T) {
	h := provisioned(t, `{"rate_limits": {"override-cost": {"key": "{http.request.header.X-Api-Key}", "limit": "100/1h",
		"cost": 10}}}`)
	h.app.rulesInForce()
	putRules(t, h, `{"overrides": [{"id": "1", "zone": "override-cost", "key": "a", "multiplier": 0.05}]}`)
	if got := h.admitted(t, "a", "/"); got != 1 {
		t.Errorf("%d requests are admitted, want 1, which counts as the whole limit", got)
	}
}

func TestMultiply(t *testing.T) {
	for _, tc := range []struct {
		n          int64
		multiplier float64
		want       int64
	}{
		{100, 1.1, 110}, {100, 1.001, 101}, {100, 5, 500}, {1, 0.001, 1}, {3, 0.5, 2}, {0, 5, 0}, {30, 0.1, 3},
		{limiter.MaxEvents, 2, 2 * limiter.MaxEvents}, {7, 1, 7}, {1000, 0.07, 70},
	} {
		if got := multiply(tc.n, tc.multiplier); got != tc.want {
			t.Errorf("%d * %v = %d, want %d", tc.n, tc.multiplier, got, tc.want)
		}
	}
	blocked := times(&config.Limit{Block: true}, 3)
	if *blocked != (config.Limit{Block: true}) {
		t.Errorf("block multiplied = %+v, want block", *blocked)
	}
}
