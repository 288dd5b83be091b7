package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetlimit/fleetlimit/internal/observe/journal"
	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestDryRunNeverRejects(t *testing.T) {
	for i, tc := range []struct{ key, zone string }{
		{"X-Api-Key", `"limit": "1/1h"`},
		{"X-Api-Key", `"limit": "block"`},
		{"X-Api-Key", `"limit": "1/1h", "deny_keys": ["k"]`},
		{"X-Nobody", `"limit": "1/1h", "on_missing_key": "deny"`},
		{"X-Twice", `"limit": "1/1h"`},
	} {
		name := fmt.Sprintf("dry-run-%d", i)
		h, logs := scripted(t, `{"rate_limits": {"`+name+`": {"dry_run": "100%", "key": "{http.request.header.`+
			tc.key+`}", `+tc.zone+`}}}`, &scriptedStore{decision: limiter.Decision{Breach: true}})
		for range 3 {
			w, r := httptest.NewRecorder(), benchRequest("k")
			r.Header["X-Twice"] = []string{"a", "b"}
			if err := h.ServeHTTP(w, r, handlerThatWritesNothing); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%s: status %d, %v; want 200", tc.zone, w.Code, err)
			}
			for field := range w.Header() {
				t.Errorf("%s: the response has the header %s", tc.zone, field)
			}
		}
		z := h.requests.Zones[0].Usage
		c := z.Sum()
		if got := c.WouldReject.Total() + z.WouldDeny.Load(); got != 3 {
			t.Errorf("%s: %d requests would be rejected, want 3", tc.zone, got)
		}
		if got := c.Rejected.Total() + z.Denied.Load() + c.Admitted.Total(); got != 0 {
			t.Errorf("%s: %d requests count as decided otherwise", tc.zone, got)
		}
		if got := logs.FilterMessage("request would be rejected").Len(); got != 3 {
			t.Errorf("%s: %d lines in the log, want 3", tc.zone, got)
		}
	}
}

// A zone in a dry run takes nothing from other zones, and counts no request that these reject.
func TestDryRunDoesNotChangeOtherZones(t *testing.T) {
	h := provisioned(t, `{"rate_limits": {
		"beside-dry-run": {"key": "all", "limit": "3/1h"},
		"dry-run-beside": {"key": "all", "limit": "2/1h", "dry_run": 1}}}`)
	if got := h.admitted(t, "k", "/"); got != 3 {
		t.Errorf("%d requests are admitted, want 3", got)
	}
	tried := h.requests.Zones[1].Usage.Sum()
	if admitted, would := tried.Admitted.Total(), tried.WouldReject.Total(); admitted != 2 || would != 1 {
		t.Errorf("the dry run has admitted %d and would have rejected %d, want 2 and 1", admitted, would)
	}
}

// After a dry run, the first rejection of a key is reported in the log, by an event and in the
// history, even if the dry run has reported the key before.
func TestFirstRejectionAfterDryRun(t *testing.T) {
	for name, limit := range map[string]string{
		"bucket": `"limit": "2/24h"`, "log": `"limit": "2/24h", "algorithm": "sliding_window_log"`,
		"window": `"limit": "2/24h", "algorithm": "fixed_window"`,
	} {
		name = "after-dry-run-" + name
		core, logs := observer.New(zapcore.InfoLevel)
		h := provisioned(t, `{"rate_limits": {"`+name+`": {"key": "{http.request.header.X-Api-Key}", `+limit+`}}}`)
		h.log.Logger = zap.New(core)
		h.app.rulesInForce()
		count := func(when string, share string, would, rejected, journaled int) {
			t.Helper()
			putRules(t, h, `{"zones": {"`+name+`": {"dry_run": "`+share+`"}}}`)
			h.admitted(t, "a", "/")
			z := h.requests.Zones[0].Usage
			events := 0
			for _, e := range z.Journal.View().Events {
				if e.Kind == journal.Rejected {
					events += e.Times
				}
			}
			logged := logs.FilterMessage("rate limit exceeded").Len()
			if w := logs.FilterMessage("request would be rejected").Len(); w != would || logged != rejected || events != journaled {
				t.Errorf("%s %s: %d lines of the dry run, %d about rejections, %d of them in the journal, want %d, %d and %d",
					name, when, w, logged, events, would, rejected, journaled)
			}
		}
		count("in the dry run", "100%", 1, 0, 0)
		count("after it", "0%", 1, 1, 1)
		count("later", "0%", 1, 1, 1)
	}
}

func TestRulesStartAndEndDryRun(t *testing.T) {
	h := rulesHandler(t, "dry-run-rules")
	h.app.rulesInForce()
	putRules(t, h, `{"zones": {"dry-run-rules": {"dry_run": "100%"}}}`)
	if got := h.admitted(t, "a", "/"); got != 20 {
		t.Errorf("%d requests are admitted in a dry run, want all", got)
	}
	putRules(t, h, `{"zones": {"dry-run-rules": {"dry_run": "0%"}}}`)
	if got := h.admitted(t, "a", "/"); got != 0 {
		t.Errorf("%d requests are admitted after the dry run, want none: they have been counted", got)
	}
}
