package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// putRules puts a document in force for h.
func putRules(tb testing.TB, h *Handler, document string) *zone.Snapshot {
	tb.Helper()
	d := new(rules.Document)
	if err := json.Unmarshal([]byte(document), d); err != nil {
		tb.Fatal(err)
	}
	h.app.applying.Lock()
	defer h.app.applying.Unlock()
	return h.app.applyLocked(&rules.Version{Number: h.app.inForce.Load().Version.Number + 1, Document: d})
}

// statusOf returns the status of a request with an API key and a path.
func (h *Handler) statusOf(t *testing.T, apiKey, path string) int {
	t.Helper()
	r, w := benchRequest(apiKey), httptest.NewRecorder()
	u := *r.URL
	u.Path = path
	r.URL = &u
	err := h.ServeHTTP(w, r, handlerThatWritesNothing)
	if failed := (caddyhttp.HandlerError{}); errors.As(err, &failed) {
		return failed.StatusCode
	}
	return w.Code
}

// admitted returns how many of 20 requests of a key are admitted.
func (h *Handler) admitted(t *testing.T, apiKey, path string) (n int) {
	t.Helper()
	for range 20 {
		if h.statusOf(t, apiKey, path) == http.StatusOK {
			n++
		}
	}
	return n
}

const zoneWithRules = `{"rate_limits": {%q: {
	"key": "{http.request.header.X-Api-Key}", "limit": "2/1h",
	"tier": {"tiers": {"pro": "4/1h", "free": "3/1h"}, "keys": [{"glob": "pro-*", "tier": "pro"}, {"glob": "free-*", "tier": "free"}]},
	"endpoints": [
		{"methods": ["GET"], "path": "/search*", "limit": "5/1h", "tiers": {"pro": "6/1h"}},
		{"path": "/fixed", "limit": "5/1h", "algorithm": "fixed_window"},
		{"path": "/other", "limit": "unlimited"}]}}}`

// rulesHandler returns a handler with one zone, called name.
func rulesHandler(t *testing.T, name string) *Handler {
	return provisioned(t, fmt.Sprintf(zoneWithRules, name))
}

// A limit of the rules replaces a limit of the configuration, and is inherited as that limit was.
func TestRulesReplaceLimitsOfZones(t *testing.T) {
	for i, tc := range []struct {
		zone                        string // of the document
		rest, pro, search, proThere int
	}{
		{`{}`, 2, 4, 5, 6},
		{`{"limit": "7/1h"}`, 7, 4, 5, 6},
		{`{"tiers": {"pro": "8/1h"}}`, 2, 8, 5, 6},
		{`{"endpoints": {"GET /search*": {"limit": "9/1h"}}}`, 2, 4, 9, 6},
		{`{"endpoints": {"GET /search*": {"tiers": {"pro": "10/1h burst 11"}}}}`, 2, 4, 5, 11},
		{`{"limit": "block", "tiers": {"pro": "unlimited"}}`, 0, 20, 5, 6},
		{`{"limit": "7/1h", "endpoints": {"/gone": {"limit": "8/1h"}}}`, 7, 4, 5, 6}, // the endpoint /gone was in an earlier configuration
		{`{"limit": "7/0h", "tiers": {"pro": "8/1h", "gone": "1/1h"}}`, 2, 8, 5, 6},
	} {
		name := fmt.Sprintf("replaced-%d", i)
		h := rulesHandler(t, name)
		h.app.rulesInForce()
		putRules(t, h, `{"zones": {"`+name+`": `+tc.zone+`}}`)
		for _, count := range []struct {
			key, path string
			want      int
		}{{"a", "/", tc.rest}, {"pro-a", "/", tc.pro}, {"a", "/search", tc.search}, {"pro-a", "/search", tc.proThere}} {
			if got := h.admitted(t, count.key, count.path); got != count.want {
				t.Errorf("%s: %d requests of %s to %s are admitted, want %d", tc.zone, got, count.key, count.path, count.want)
			}
		}
	}
}

// Counts stay when a limit changes. A raised limit at once admits a key that was rejected.
func TestRulesKeepCounts(t *testing.T) {
	h := rulesHandler(t, "counts-stay")
	if got := h.admitted(t, "a", "/"); got != 2 {
		t.Fatalf("%d requests are admitted, want 2", got)
	}
	putRules(t, h, `{"zones": {"counts-stay": {"limit": "5/1h"}}}`)
	if got := h.admitted(t, "a", "/"); got != 3 {
		t.Errorf("after the limit was raised from 2 to 5, %d requests are admitted, want 3", got)
	}
	putRules(t, h, `{}`)
	if got := h.admitted(t, "a", "/"); got != 0 {
		t.Errorf("after it was lowered again, %d requests are admitted, want none", got)
	}
}

func TestRulesThatDoNotFitAreLoggedAndLeftOut(t *testing.T) {
	h, logs := scripted(t, fmt.Sprintf(zoneWithRules, "left-out"), &scriptedStore{decision: limiter.Decision{OK: true}})
	h.app.logger = h.log.Logger
	h.app.rulesInForce()
	s := putRules(t, h, `{"zones": {"left-out": {"limit": "x", "endpoints": {"/gone": {"limit": "8/1h"}}}},
		"tiers": [{"id": "t1", "zone": "left-out", "key": "a", "tier": "gone"}],
		"access": [{"id": "a1", "action": "deny", "address": "x"}, {"id": "a2", "action": "deny", "zone": "gone", "key": "k"},
			{"id": "a3", "action": "deny", "zone": "left-out", "key": "denied"}],
		"overrides": [{"id": "o1", "zone": "left-out", "key": "a", "endpoint": "/gone", "multiplier": 2},
			{"id": "o2", "zone": "left-out", "key": "a", "endpoint": "/fixed", "limit": "9/1h burst 3"},
			{"id": "o3", "zone": "left-out", "key": "a", "limit": "0/1h"},
			{"id": "o4", "zone": "left-out", "key": "b", "limit": "block"}]}`)
	for key, want := range map[string]int{"a": http.StatusOK, "b": http.StatusTooManyRequests, "denied": http.StatusForbidden} {
		if got := h.statusOf(t, key, "/"); got != want {
			t.Errorf("status of the key %s = %d, want %d by the rules that fit", key, got, want)
		}
	}
	h.app.applying.Lock()
	h.app.applyLocked(s.Version) // as at a start
	h.app.applying.Unlock()
	var lines []string
	for _, line := range logs.FilterMessageSnippet("a rule is not in force").All() {
		lines = append(lines, fmt.Sprint(line.ContextMap()["error"]))
	}
	got := strings.Join(lines, "\n")
	for _, want := range []string{`limit of /gone: the zone has no endpoint "/gone"`, "override o1:", "tier t1:", `limit: "x"`,
		"override o2: not at /fixed: ", "override o3:", "access a1:", `access a2: there is no zone "gone"`} {
		if n := strings.Count(got, want); n != 1 {
			t.Errorf("the log says\n%s\nwith %q %d times, want once", got, want, n)
		}
	}
}
