package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
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
		{"id": "10", "zone": "overridden", "key": "both-after", "limit": "9/1h"},
		{"id": "11", "zone": "overridden", "key": "both-after", "endpoint": "GET /search*", "limit": "8/1h"},
		{"id": "6", "zone": "overridden", "key": "blocked", "limit": "block"},
		{"id": "7", "zone": "overridden", "key": "free", "limit": "unlimited"},
		{"id": "8", "zone": "overridden", "key": "pro-a", "multiplier": 1.5},
		{"id": "9", "zone": "overridden", "key": "ended", "limit": "9/1h", "expires_at": "2001-01-01T00:00:00Z"}]}`)
	for _, tc := range []struct {
		key          string
		rest, search int
		other        int // of /other, which is not limited
	}{
		{"all", 7, 7, 7}, {"half", 1, 3, 20}, {"one", 2, 10, 20}, {"both", 9, 8, 9}, {"both-after", 9, 8, 9}, {"blocked", 0, 0, 0},
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

const zoneWithAlgorithms = `{"rate_limits": {%q: {
	"key": "{http.request.header.X-Api-Key}", "limit": "1000/8760h",
	"endpoints": [
		{"path": "/fixed", "limit": "5/8760h", "algorithm": "fixed_window"},
		{"path": "/costly", "limit": "100/1m", "cost": 10},
		{"path": "/most", "limit": "1000000000000/1m"},
		{"path": "/free", "limit": "unlimited"}]}}}`

// An override that a zone cannot have is refused where it is written, with its place and with what
// to use.
func TestOverridesWithoutEffectAreRefused(t *testing.T) {
	h := provisioned(t, fmt.Sprintf(zoneWithAlgorithms, "override-check"))
	h.app.set.Check = redisstore.Check // refuses counts whose fractions do not fit into values of Redis
	defer func() { h.app.set.Check = nil }()
	for _, tc := range []struct{ document, want string }{
		{`"limit": "700/8760h"`, ""},
		{`"limit": "7/8760h"`, "overrides[0].limit: 7 events per 8760h0m0s cannot be counted exactly in Redis: use a shorter window"},
		{`"limit": "7/8760h", "endpoint": "/costly"`, "overrides[0].limit: not at /costly: 7 events"},
		{`"limit": "7/8760h", "endpoint": "/fixed"`, ""},
		{`"limit": "100/1m burst 9"`, ""}, // at all endpoints but one
		{`"limit": "100/1m burst 9", "endpoint": "/fixed"`, "not at /fixed: limit: fixed_window has no burst: use token_bucket"},
		{`"limit": "5/1m"`, ""},
		{`"limit": "5/1m", "endpoint": "/costly"`, "not at /costly: cost is 10, but at most 5 can pass at once: use a lower cost"},
		{`"limit": "block"`, ""},
		{`"limit": "x"`, `overrides[0].limit: "x" is not a rate`},
		{`"multiplier": 0.7`, ""},
		{`"multiplier": 0.007`, "overrides[0].multiplier: 1000/365d times 0.007: 7 events per 8760h0m0s cannot be counted"},
		{`"multiplier": 0.7, "endpoint": "/fixed"`, ""},
		{`"multiplier": 2`, "overrides[0].multiplier: not at /most: 1000000000000/1m times 2: limit: events is 2000000000000: " +
			"use 1 to 1000000000000; or use another multiplier"},
		{`"multiplier": 2, "endpoint": "/costly"`, ""},
		{`"multiplier": 0.01, "endpoint": "/costly"`, ""}, // one request passes at once
		{`"multiplier": 2, "endpoint": "/free"`, ""},
	} {
		document := `{"overrides": [{"id": "1", "zone": "override-check", "key": "a", ` + tc.document + `}]}`
		err := h.validate(t, document)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: error %v, want %q", tc.document, err, tc.want)
		}
	}
	// A multiplier multiplies the limits that the same document gives the zone.
	const lowered = `{"zones": {"override-check": {"endpoints": {"/most": {"limit": "10/1m"}}}},
		"overrides": [{"id": "1", "zone": "override-check", "key": "a", "multiplier": 2}]}`
	if err := h.validate(t, lowered); err != nil {
		t.Errorf("a multiplier of a limit that the document lowers: %v", err)
	}
}

// Overrides without effect may come from elsewhere, or the configuration may have changed since.
func TestOverridesWithoutEffectAreLogged(t *testing.T) {
	h, logs := scripted(t, fmt.Sprintf(zoneWithAlgorithms, "override-left"), &scriptedStore{decision: limiter.Decision{OK: true}})
	h.app.logger = h.log.Logger
	h.app.set.Check = redisstore.Check
	defer func() { h.app.set.Check = nil }()
	h.app.rulesInForce()
	putRules(t, h, `{"overrides": [
		{"id": "o1", "zone": "override-left", "key": "a", "limit": "7/8760h"},
		{"id": "o2", "zone": "override-left", "key": "b", "multiplier": 2},
		{"id": "o3", "zone": "override-left", "key": "c", "endpoint": "/costly", "multiplier": 2}]}`)
	for range 3 {
		if got := h.statusOf(t, "a", "/"); got != http.StatusOK {
			t.Errorf("status = %d, want 200 by the limit of the zone", got)
		}
	}
	var lines []string
	for _, line := range logs.FilterMessageSnippet("a rule is not in force").All() {
		lines = append(lines, fmt.Sprint(line.ContextMap()["error"]))
	}
	if len(lines) != 2 || !strings.Contains(lines[0], "override o1: 7 events") || !strings.Contains(lines[1], "override o2: not at /most: ") {
		t.Errorf("the log says %q, want why o1 and o2 are not in force", lines)
	}
}
