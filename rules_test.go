package fleetlimit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"
	"github.com/caddyserver/certmagic"

	"github.com/fleetlimit/fleetlimit/rules"
)

// inStorage returns a handler with one zone that runs with rules in a storage of its own, and a
// function that stops it.
func inStorage(t *testing.T, dir, zone string) (h *Handler, stop func()) {
	t.Helper()
	storage, _ := json.Marshal(map[string]string{"module": "file_system", "root": dir})
	ctx, err := caddy.ProvisionContext(&caddy.Config{Admin: &caddy.AdminConfig{Disabled: true}, StorageRaw: storage})
	if err != nil {
		t.Fatal(err)
	}
	if _, is := ctx.Storage().(*certmagic.FileStorage); !is {
		t.Fatalf("the storage is %T", ctx.Storage())
	}
	h = new(Handler)
	if err := json.Unmarshal(fmt.Appendf(nil, zoneWithRules, zone), h); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Provision(ctx), h.app.Start()); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = errors.Join(h.app.Stop(), h.Cleanup(), h.app.Cleanup())
		}
	}
	t.Cleanup(stop)
	return h, stop
}

func (h *Handler) update(t *testing.T, document string) error {
	t.Helper()
	_, err := h.app.watcher.Update(context.Background(), rules.Change{Author: "test", Apply: func(d *rules.Document) error {
		old := d.Clone()
		*d = rules.Document{}
		if err := json.Unmarshal([]byte(document), d); err != nil {
			return err
		}
		return rules.Validate(d, old, ruleSchema{h.app}, time.Now())
	}})
	return err
}

// Rules are in force when they have been written, outlive reloads without a gap, and also the process.
func TestRulesOutliveReloads(t *testing.T) {
	dir := t.TempDir()
	first, stopFirst := inStorage(t, dir, "reloaded-rules")
	if err := first.update(t, `{"access": [{"id": "a", "action": "deny", "zone": "reloaded-rules", "key": "k"}]}`); err != nil {
		t.Fatal(err)
	}
	if got := first.statusOf(t, "k", "/"); got != http.StatusForbidden {
		t.Errorf("status after the change = %d, want 403", got)
	}
	watcher := first.app.watcher
	second, stopSecond := inStorage(t, dir, "reloaded-rules")
	stopFirst()
	if second.app.watcher != watcher {
		t.Error("the reload has made another watcher")
	}
	if got := second.statusOf(t, "k", "/"); got != http.StatusForbidden {
		t.Errorf("status after a reload = %d, want 403", got)
	}
	stopSecond() // as when the process ends
	third, _ := inStorage(t, dir, "reloaded-rules")
	if third.app.watcher == watcher {
		t.Error("the watcher has outlived all apps")
	}
	if got := third.statusOf(t, "k", "/"); got != http.StatusForbidden {
		t.Errorf("status after a restart = %d, want 403", got)
	}
}

// Requests may come before the app has started: apps start in any order.
func TestRulesBeforeStart(t *testing.T) {
	dir := t.TempDir()
	running, _ := inStorage(t, dir, "before-start")
	if err := running.update(t, `{"zones": {"before-start": {"limit": "block"}}}`); err != nil {
		t.Fatal(err)
	}
	next, _ := inStorage(t, dir, "before-start")
	next.app.inForce.Store(nil)
	if got := next.statusOf(t, "k", "/"); got != http.StatusTooManyRequests {
		t.Errorf("status before the start = %d, want 429 by the rules", got)
	}
}

func TestWrongRulesAreRefused(t *testing.T) {
	h, _ := inStorage(t, t.TempDir(), "refused-rules")
	for document, want := range map[string]string{
		`{"zones": {"refused-rule": {"limit": "1/1h"}}}`:                                                    `use "refused-rules"`,
		`{"zones": {"refused-rules": {"limit": "0/1h"}}}`:                                                   "use block",
		`{"zones": {"refused-rules": {"tiers": {"free": "x"}}}}`:                                            "free",
		`{"zones": {"refused-rules": {"tiers": {"gold": "1/1h"}}}}`:                                         "gold",
		`{"zones": {"refused-rules": {"endpoints": {"/search": {"limit": "1/1h"}}}}}`:                       `use one of "GET /search*"`,
		`{"zones": {"refused-rules": {"dry_run": "0.1"}}}`:                                                  "use 10%",
		`{"zones": {"refused-rules": {"compare": {}}}}`:                                                     "use `limit`, `algorithm` or both",
		`{"zones": {"refused-rules": {"compare": {"keys": "0.1"}}}}`:                                        "keys: \"0.1\" is not a percentage of keys: use 10%",
		`{"zones": {"refused-rules": {"compare": {"limit": "5"}}}}`:                                         "compare: limit: ",
		`{"zones": {"refused-rules": {"compare": {"algorithm": "sliding_window 6 6"}}}}`:                    "sliding_window 10",
		`{"zones": {"refused-rules": {"compare": {"algorithm": "bucket"}}}}`:                                "token_bucket",
		`{"zones": {"refused-rules": {"compare": {"algorithm": "fixed_window", "limit": "5/1m burst 2"}}}}`: "fixed_window has no burst",
		`{"overrides": [{"id": "a", "zone": "refused-rules", "key": "", "limit": "1/1h"}]}`:                 "empty",
		`{"emergency": {"limit": "block", "expires_at": "2100-01-01T00:00:00Z"}}`:                           "block is no limit",
	} {
		if err := h.update(t, document); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", document, err, want)
		}
	}
	if got := h.app.rulesInForce().version.Number; got != 0 {
		t.Errorf("version = %d, want 0", got)
	}
}

// The emergency of the rules is that of this node, unless the node has one of its own.
func TestEmergencyOfRules(t *testing.T) {
	defer endEmergency()
	h, stop := inStorage(t, t.TempDir(), "emergency-rules")
	put := func(limit string) {
		document := `{}`
		if limit != "" {
			document = fmt.Sprintf(`{"emergency": {"limit": %q, "expires_at": %q}}`, limit,
				time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		}
		if err := h.update(t, document); err != nil {
			t.Fatal(err)
		}
	}
	limit := func() string {
		if e := emergencyMode.active(time.Now()); e != nil {
			return e.limit.String()
		}
		return ""
	}
	check := func(when, want string) {
		t.Helper()
		if got := limit(); got != want {
			t.Errorf("%s, the limit of the emergency is %q, want %q", when, got, want)
		}
	}
	put("5/1s")
	check("after the rules have one", (&Limit{Events: 5, Window: caddy.Duration(time.Second)}).String())
	own := startEmergency(t, emergencyRequest{Limit: "1/1h"})
	check("after the node has its own", own.limit.String())
	put("7/1s")
	check("after the rules have another one", own.limit.String())
	emergencyMode.end(own, "the test ends it")
	check("after the node's own has ended", (&Limit{Events: 7, Window: caddy.Duration(time.Second)}).String())
	put("")
	check("after the rules have none", "")
	put("5/1s")
	stop()
	check("after the configuration has stopped", "")
}

// Validating a configuration, or provisioning one that does not start, opens nothing.
func TestProvisioningOpensNoRules(t *testing.T) {
	dir := t.TempDir()
	a := jsonApp(t, `{"rules": "storage"}`)
	storage, _ := json.Marshal(map[string]string{"module": "file_system", "root": dir})
	ctx, err := caddy.ProvisionContext(&caddy.Config{Admin: &caddy.AdminConfig{Disabled: true}, StorageRaw: storage})
	if err == nil {
		err = a.Provision(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, found := rulePool.References(a.ruleStore.identity); found {
		t.Errorf("%d apps watch the rules, want none", n)
	}
	if files, _ := filepath.Glob(dir + "/rate_limit*"); len(files) > 0 {
		t.Errorf("files %v, want none", files)
	}
}
