package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/rules"
)

// FuzzProvision compiles the JSON of an app and of a handler, as a load and a plan do, but connects
// to nothing. Nothing panics, errors have a remedy, and an accepted configuration reads as it is
// written.
func FuzzProvision(f *testing.F) {
	h, _ := provisionedIn(f, f.TempDir(), `{"rate_limits": {"user": {"key": "static", "limit": "5/1h"}}}`)
	running := h.app
	for _, seed := range [][2]string{
		{
			`{"tiers": {"free": "100/1m", "pro": "1000/1m burst 1500"}, "defaults": {"mode": "lease", "headers": "x"}}`,
			`{"rate_limits": {"api_key": {"key": "{http.request.header.X-Api-Key}", "tier": {"tiers": {"free": null, "pro": null},
				"keys": [{"glob": "sk_pro_*", "tier": "pro"}], "default": "free"}, "endpoints": [
				{"methods": ["GET"], "path": "/v1/search*", "limit": "2/1m"}, {"path": "/v1/reports", "cost": 10}]}}}`,
		},
		{
			`{"zones": {"tenant": {"key": "{http.request.header.X-Tenant}", "on_missing_key": "skip", "limit": "5000/1m",
				"algorithm": {"name": "sliding_window", "subwindows": 6}}}}`,
			`{"rate_limits": {"tenant": {}, "address": {"key": "{http.vars.client_ip}", "ipv4_prefix": 24, "limit": "600/1m",
				"concurrent": 20, "wait": "2s", "dry_run": "10%"}}, "allow": ["192.0.2.0/24"], "reject": "problem", "jitter": "20%"}`,
		},
		{
			`{"zones": {"busy": {"adaptive": {"max_latency": "100ms", "min": 1, "max": 9}}}}`,
			`{"rate_limits": {"login": {"key": "k", "match": [{"path": ["/login"]}], "limit": {"events": 5, "window": "1h", "burst": 1},
				"count_status": ["401", "4xx"], "mode": "strict", "on_outage": "closed", "max_keys": 10}}, "headers": "draft"}`,
		},
		{
			`{"redis": {"addresses": ["localhost:1"], "mode": "cluster"}, "breaker": {"failures": 3}, "rules": {"store": "redis"}, "decisions": {"to": ["log"]}}`,
			`{"rate_limits": {"api": {"key": "{http.vars.client_ip}", "window": "1m", "max_events": 10}}, "distributed": {}, "max_retry_after": "1h"}`,
		},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, app, handler []byte) {
		var object map[string]any
		if json.Unmarshal(handler, &object) != nil || object == nil || !json.Valid(app) {
			return
		}
		object["handler"] = "rate_limit"
		handler, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}

		planned, err := running.compile(fmt.Appendf(nil, `{"apps": {"rate_limit": %s, "http": [%s]}}`, app, handler))
		if err != nil {
			if !strings.Contains(err.Error(), "use ") {
				t.Errorf("app %s, handler %s: the error has no remedy: %v", app, handler, err)
			}
			return
		}
		planned.set.Compile(&rules.Version{Document: new(rules.Document)}, nil, time.Now())
		written, err := json.Marshal(&planned.App)
		if err != nil {
			t.Fatal(err)
		}
		read := new(config.App)
		if err := json.Unmarshal(written, read); err != nil {
			t.Fatalf("%s is not the configuration of an app: %v", written, err)
		}
		if again, err := json.Marshal(read); err != nil || !bytes.Equal(again, written) {
			t.Errorf("was written  %s\nand reads as %s, %v", written, again, err)
		}
	})
}
