package fleetlimit

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

const zoneWithAlgorithms = `{"rate_limits": {%q: {
	"key": "{http.request.header.X-Api-Key}", "limit": "1000/8760h",
	"endpoints": [
		{"path": "/fixed", "limit": "5/8760h", "algorithm": "fixed_window"},
		{"path": "/costly", "limit": "100/1m", "cost": 10},
		{"path": "/most", "limit": "1000000000000/1m"},
		{"path": "/free", "limit": "unlimited"}]}}}`

// What a zone cannot have is refused where it is written, with its place and what to use.
func TestOverridesWithoutEffectAreRefused(t *testing.T) {
	h := provisioned(t, fmt.Sprintf(zoneWithAlgorithms, "override-check"))
	h.app.Redis = new(config.Redis) // counts whose fractions do not fit into its values are refused
	defer func() { h.app.Redis = nil }()
	for _, tc := range []struct{ document, want string }{
		{`"limit": "700/8760h"`, ""},
		{`"limit": "7/8760h"`, "overrides[0].limit: 7 events per 8760h0m0s cannot be counted exactly in Redis: use a shorter window"},
		{`"limit": "7/8760h", "endpoint": "/costly"`, "overrides[0].limit: not at /costly: 7 events"},
		{`"limit": "7/8760h", "endpoint": "/fixed"`, ""},
		{`"limit": "100/1m burst 9"`, ""}, // for all but one
		{`"limit": "100/1m burst 9", "endpoint": "/fixed"`, "not at /fixed: limit: fixed_window has no burst: use token_bucket"},
		{`"limit": "5/1m"`, ""},
		{`"limit": "5/1m", "endpoint": "/costly"`, "not at /costly: cost is 10, but at most 5 events can pass at once: use a lower cost"},
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
	// The limits that the same document gives the zone count.
	const lowered = `{"zones": {"override-check": {"endpoints": {"/most": {"limit": "10/1m"}}}},
		"overrides": [{"id": "1", "zone": "override-check", "key": "a", "multiplier": 2}]}`
	if err := h.validate(t, lowered); err != nil {
		t.Errorf("a multiplier of a limit that the document lowers: %v", err)
	}
}

// Such overrides may come from elsewhere, or the configuration has changed since.
func TestOverridesWithoutEffectAreLogged(t *testing.T) {
	h, logs := scripted(t, fmt.Sprintf(zoneWithAlgorithms, "override-left"), &scriptedStore{decision: limiter.Decision{OK: true}})
	h.app.logger = h.logger
	h.app.Redis = new(config.Redis)
	defer func() { h.app.Redis = nil }()
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
