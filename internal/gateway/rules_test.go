package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/fleet/rulewatch"
	"github.com/fleetlimit/fleetlimit/internal/operate/adminapi"
	"github.com/fleetlimit/fleetlimit/rules"
)

// inStorage returns a handler with one zone, which runs with rules in a storage in dir, and a
// function that stops it.
func inStorage(t *testing.T, dir, zone string) (h *Handler, stop func()) {
	t.Helper()
	return provisionedIn(t, dir, fmt.Sprintf(zoneWithRules, zone))
}

func (h *Handler) update(t *testing.T, document string) error {
	t.Helper()
	_, err := h.app.watcher.Update(context.Background(), rules.Change{Author: "test", Apply: func(d *rules.Document) error {
		old := d.Clone()
		*d = rules.Document{}
		if err := json.Unmarshal([]byte(document), d); err != nil {
			return err
		}
		return rules.Validate(d, old, (&adminapi.Running{Snapshot: h.app.rulesInForce()}).Schema(), time.Now())
	}})
	return err
}

// validate returns why a document is refused, nil if it is not.
func (h *Handler) validate(t *testing.T, document string) error {
	t.Helper()
	d := new(rules.Document)
	if err := json.Unmarshal([]byte(document), d); err != nil {
		t.Fatal(err)
	}
	return rules.Validate(d, nil, (&adminapi.Running{Snapshot: h.app.rulesInForce()}).Schema(), time.Now())
}

// Rules are in force when they have been written. They outlive reloads, without a gap, and the
// process.
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

// A server may start before the app when the process starts. Its first requests wait for the rules.
func TestFirstRequestsWaitForRules(t *testing.T) {
	dir := t.TempDir()
	operator, stop := inStorage(t, dir, "first-requests")
	if err := operator.update(t, `{"zones": {"first-requests": {"limit": "block"}}}`); err != nil {
		t.Fatal(err)
	}
	stop()
	ctx, err := caddy.ProvisionContext(&caddy.Config{
		Admin: &caddy.AdminConfig{Disabled: true}, StorageRaw: fmt.Appendf(nil, `{"module": "file_system", "root": %q}`, dir),
		AppsRaw: caddy.ModuleMap{"http": fmt.Appendf(nil, `{"servers": {"s": {"listen": ["127.0.0.1:0"], "routes": [{"handle": [%s]}]}}}`,
			strings.Replace(fmt.Sprintf(zoneWithRules, "first-requests"), "{", `{"handler": "rate_limit", `, 1))},
	})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := ctx.App("http")
	if err != nil {
		t.Fatal(err)
	}
	server := loaded.(*caddyhttp.App).Servers["s"]
	h := server.Routes[0].Handlers[0].(*Handler)
	status := make(chan int)
	go func() { status <- h.statusOf(t, "k", "/") }()
	for h.app.applying.TryLock() { // until the request waits
		h.app.applying.Unlock()
		runtime.Gosched()
	}
	if err := h.app.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(h.app.Stop(), h.Cleanup(), h.app.Cleanup()) }()
	if got := <-status; got != http.StatusTooManyRequests {
		t.Errorf("status of a request before the start = %d, want 429 by the rules", got)
	}
}

// Requests may come before the app has started, because apps start in any order.
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
	if got := h.app.rulesInForce().Version.Number; got != 0 {
		t.Errorf("version = %d, want 0", got)
	}
}

// The emergency of the rules is on at this node, unless the node has one of its own.
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
	check := func(when, want string) {
		t.Helper()
		if got := emergencyMode.Describe().Limit; got != want {
			t.Errorf("%s, the limit of the emergency is %q, want %q", when, got, want)
		}
	}
	put("5/1s")
	check("after the rules have one", "5/1s")
	startEmergency(t, "1/1h", time.Hour)
	check("after the node has its own", "1/1h")
	put("7/1s")
	check("after the rules have another one", "1/1h")
	endEmergency()
	check("after the node's own has ended", "7/1s")
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
	if n := len(rulewatch.All()); n > 0 {
		t.Errorf("%d watchers of rules, want none", n)
	}
	if files, _ := filepath.Glob(dir + "/rate_limit*"); len(files) > 0 {
		t.Errorf("files %v, want none", files)
	}
}

// A rollback to any version makes the running zone decide as under that version, whatever rules
// were in force in between.
func TestRollbackRestoresDecisions(t *testing.T) {
	h, _ := inStorage(t, t.TempDir(), "rolled-back")
	random := rand.New(rand.NewPCG(3, 4))
	keys, paths := []string{"a", "b", "pro-a", "free-b"}, []string{"/", "/search", "/fixed", "/other"}
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	limit := func() string { // no count of the test reaches it
		return pick("block", "unlimited", fmt.Sprintf("%d/1h", 1_000_000+random.IntN(1000)))
	}
	document := func() string {
		z := &rules.ZoneChange{
			Limit: limit(), DryRun: pick("", "", "50%"), Tiers: map[string]string{"pro": limit(), "free": limit()},
			Endpoints: map[string]*rules.Endpoint{"/fixed": {Limit: limit()}, "/other": {Limit: limit()},
				"GET /search*": {Limit: limit(), Tiers: map[string]string{"pro": limit()}}},
		}
		d := rules.Document{Zones: map[string]*rules.ZoneChange{"rolled-back": z}}
		for i, key := range keys {
			e, k := rules.Entry{ID: strconv.Itoa(i)}, rules.Key{Zone: "rolled-back", Text: key}
			if random.IntN(3) == 0 {
				d.Overrides = append(d.Overrides, &rules.Override{Entry: e, Key: k, Endpoint: pick("", "/fixed", "/other"), Limit: limit()})
			}
			if random.IntN(3) == 0 {
				d.Tiers = append(d.Tiers, &rules.TierAssignment{Entry: e, Key: k, Tier: pick("pro", "free")})
			}
			if random.IntN(6) == 0 {
				d.Access = append(d.Access, &rules.AccessEntry{Entry: e, Key: &k, Action: pick(rules.Allow, rules.Deny)})
			}
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	decisions := func() (all []string) {
		for _, key := range keys {
			for _, path := range paths {
				r, w := benchRequest(key), httptest.NewRecorder()
				r.URL = &url.URL{Path: path}
				err := h.ServeHTTP(w, r, handlerThatWritesNothing)
				all = append(all, fmt.Sprintf("%s%s %d %v %v", key, path, w.Code, err, w.Header()["X-Ratelimit-Limit"]))
			}
		}
		return all
	}
	versions := [][]string{nil} // version 0 has limits that the test reaches
	for range 30 {
		if err := h.update(t, document()); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, decisions())
	}
	for range 60 {
		to := 1 + random.IntN(len(versions)-1)
		if _, err := h.app.watcher.Rollback(t.Context(), int64(to), rules.Change{Author: "test"}); err != nil {
			t.Fatal(err)
		}
		if got := decisions(); !slices.Equal(got, versions[to]) {
			t.Fatalf("after a rollback to version %d:\n%q\nwant\n%q", to, got, versions[to])
		}
	}
}
