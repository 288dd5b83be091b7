package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap/zapcore"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// What later handlers do to a request shows whether the zone was decided before authentication.
func TestDecidedBeforeAuthentication(t *testing.T) {
	const limit = `"limit": {"events": 5, "window": "1m"}`
	const byUser = `{"key": "{http.request.header.X-User}", ` + limit + `}`
	const byPlan = `{"key": "{http.vars.client_ip}", ` + limit + `, "tier": {"placeholder": "{http.request.header.X-Plan}",
		"trusted": true, "tiers": {"enterprise": {"unlimited": true}}}}`
	set := func(name, value string) func(http.Header, *caddy.Replacer) {
		return func(h http.Header, _ *caddy.Replacer) { h.Set(name, value) }
	}
	setAuth := func(_ http.Header, repl *caddy.Replacer) { repl.Set("http.auth.user.id", "alice") }
	nothing := func(http.Header, *caddy.Replacer) {}
	for _, tc := range []struct {
		name, zone, sent string // sent: as "Name: value"
		next             func(http.Header, *caddy.Replacer)
		want             string // the placeholder that is reported, "" for none
	}{
		{"set", byUser, "", set("X-User", "alice"), "{http.request.header.X-User}"},
		{"replaced", byUser, "X-User: forged", set("X-User", "alice"), "{http.request.header.X-User}"},
		{"the same", byUser, "X-User: alice", set("X-User", "alice"), ""},
		{"removed", byUser, "X-User: alice", func(h http.Header, _ *caddy.Replacer) { h.Del("X-User") }, ""},
		{"another header", byUser, "X-User: alice", set("X-Plan", "pro"), ""},
		{"untouched", byUser, "X-User: alice", nothing, ""},
		{"tier set", byPlan, "", set("X-Plan", "pro"), "{http.request.header.X-Plan}"},
		{"tier replaced", byPlan, "X-Plan: enterprise", set("X-Plan", "free"), "{http.request.header.X-Plan}"},
		{"skipped", `{"key": "{http.request.header.X-User}", "on_missing_key": "skip", ` + limit + `}`, "",
			set("X-User", "alice"), "{http.request.header.X-User}"},
		{"substitute", `{"key": "{http.vars.user}", "on_missing_key": "{http.request.header.X-Device}", ` + limit + `}`,
			"X-Device: forged", set("X-Device", "1"), "{http.request.header.X-Device}"},
		{"cost", `{"key": "all", "cost": {"placeholder": "{http.request.header.X-Cost}", "trusted": true}, ` + limit + `}`,
			"X-Cost: 1", set("X-Cost", "5"), "{http.request.header.X-Cost}"},
		{"authentication", `{"key": "{http.auth.user.id}", ` + limit + `}`, "", setAuth, "{http.auth.user.id}"},
		{"no authentication", `{"key": "{http.auth.user.id}", ` + limit + `}`, "", nothing, ""},
		{"syntax of caddy-ratelimit", `{"key": "{http.request.header.X-User}", "window": "1m", "max_events": 5}`, "",
			set("X-User", "alice"), "{http.request.header.X-User}"},
		{"neither", `{"key": "{http.vars.client_ip}", ` + limit + `}`, "", setAuth, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, logs := scripted(t, `{"rate_limits": {"z": `+tc.zone+`}}`, &scriptedStore{decision: limiter.Decision{OK: true, Limit: 5}})
			const requests = 3
			for range requests {
				r := benchRequest("k")
				ctx := context.WithValue(r.Context(), caddy.ReplacerCtxKey, caddy.NewReplacer())
				if name, value, sends := strings.Cut(tc.sent, ": "); sends {
					r.Header.Set(name, value)
				}
				err := h.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx), caddyhttp.HandlerFunc(
					func(_ http.ResponseWriter, r *http.Request) error {
						tc.next(r.Header, r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer))
						return nil
					}))
				if err != nil {
					t.Fatal(err)
				}
			}
			errs := logs.FilterLevelExact(zapcore.ErrorLevel).All()
			lines, count := 0, uint64(0)
			if tc.want != "" {
				lines, count = 1, requests
			}
			if n := h.requests.Zones[0].Usage.BeforeAuth.Load(); n != count || len(errs) != lines {
				t.Fatalf("requests counted = %d, lines = %v, want %d and %d", n, errs, count, lines)
			}
			if lines > 0 && (errs[0].ContextMap()["placeholder"] != tc.want || errs[0].ContextMap()["zone"] != "z" ||
				!strings.Contains(errs[0].Message, "use rate_limit_authenticated")) {
				t.Errorf("line = %q %v, want zone z, placeholder %s and the remedy", errs[0].Message, errs[0].ContextMap(), tc.want)
			}
		})
	}
}
