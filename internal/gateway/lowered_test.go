package gateway

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestCountOutlastsLoweredLimit uses 20 of 100 requests per minute, which would be back after 12 s.
// Before that, the limit falls to 10 per minute, and no request comes until the count of the old
// limit would have been dropped. A bucket of 10 per minute that lacks 20 gets its first request
// back after 66 s.
func TestCountOutlastsLoweredLimit(t *testing.T) {
	for _, tc := range []struct {
		name, limit, before, after string
		want                       int // admitted of 20 requests, 55 s later
	}{
		{"an override is removed", "10/1m",
			`{"overrides": [{"id": "o", "zone": "lowered", "key": "a", "multiplier": 10}]}`, `{}`, 0},
		{"an override is added", "100/1m",
			`{}`, `{"overrides": [{"id": "o", "zone": "lowered", "key": "a", "limit": "10/1m"}]}`, 0},
		{"the limit falls", "10/1m",
			`{"zones": {"lowered": {"limit": "100/1m"}}}`, `{"zones": {"lowered": {"limit": "20/1m"}}}`, 18},
		{"the tier changes", "10/1m",
			`{"tiers": [{"id": "t", "zone": "lowered", "key": "a", "tier": "pro"}]}`, `{}`, 0},
		{"no change", "100/1m", `{}`, `{}`, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, _ := provisionedIn(t, t.TempDir(), `{"rate_limits": {"lowered": {
					"key": "{http.request.header.X-Api-Key}", "limit": "`+tc.limit+`",
					"tier": {"tiers": {"pro": "100/1m"}, "keys": [{"glob": "never", "tier": "pro"}]}}}}`)
				h.app.rulesInForce()
				putRules(t, h, tc.before)
				if got := h.admitted(t, "a", "/"); got != 20 {
					t.Fatalf("%d of 20 are admitted before, want all", got)
				}
				time.Sleep(5 * time.Second)
				putRules(t, h, tc.after)
				time.Sleep(50 * time.Second)
				if got := h.admitted(t, "a", "/"); got != tc.want {
					t.Errorf("%d of 20 are admitted 55 s after the last ones, want %d", got, tc.want)
				}
			})
		})
	}
}
