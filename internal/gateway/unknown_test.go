package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// observed returns a provisioned handler and its log. The handler has one zone, whose place is
// Caddyfile:7.
func observed(t *testing.T, zone string) (*Handler, *observer.ObservedLogs) {
	t.Helper()
	zone = strings.Replace(zone, "{", `{"place": "Caddyfile:7", `, 1)
	h := provisioned(t, `{"log_rejections": "none", "rate_limits": {"unknown": `+zone+`}}`)
	core, logs := observer.New(zapcore.InfoLevel)
	h.log.Logger = zap.New(core)
	return h, logs
}

// ask sends a request from an address, with placeholders set, and returns the status.
func ask(t *testing.T, h *Handler, address string, set map[string]string) int {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = address
	repl := caddy.NewReplacer()
	for name, value := range set {
		repl.Set(name, value)
	}
	w := httptest.NewRecorder()
	r = caddyhttp.PrepareRequest(r, repl, w, new(caddyhttp.Server))
	err := h.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error { return nil }))
	if failed, ok := err.(caddyhttp.HandlerError); ok {
		return failed.StatusCode
	}
	return w.Code
}

func TestUnknownPlaceholderIsLoggedOnce(t *testing.T) {
	const message = "nothing provides a placeholder of the zone, so it is always empty: use one that exists, or put what " +
		"provides it before this handler"
	for _, tc := range []struct {
		name, zone  string
		placeholder string
		nearest     string
	}{
		{"skip", `{"key": "{jwt.sub}", "on_missing_key": "skip", "limit": {"unlimited": true}}`, "{jwt.sub}", "{http.auth.user.id}"},
		{"deny", `{"key": "{jwt.sub}", "on_missing_key": "deny", "limit": {"unlimited": true}}`, "{jwt.sub}", "{http.auth.user.id}"},
		{"default", `{"key": "{clinet_ip}", "limit": {"unlimited": true}}`, "{clinet_ip}", "{client_ip}"},
		{"substitute", `{"key": "{http.vars.x}", "on_missing_key": "{tenant}", "limit": {"unlimited": true}}`, "{tenant}", ""},
		{"tier", `{"key": "static", "limit": {"unlimited": true},
			"tier": {"placeholder": "{plan}", "tiers": {"pro": {"unlimited": true}}}}`, "{plan}", ""},
		{"cost", `{"key": "static", "limit": {"events": 5, "window": "1m"}, "cost": {"placeholder": "{price}"}}`, "{price}", ""},
		{"endpoint", `{"key": "static", "limit": {"events": 5, "window": "1m"}, "endpoints": [
			{"path": "/x", "cost": {"placeholder": "{price}"}}]}`, "{price}", ""},
		{"caddy-ratelimit", `{"key": "{remote_ip}", "window": "1m", "max_events": 5}`, "{remote_ip}", "{client_ip}"},
	} {
		h, logs := observed(t, tc.zone)
		for range 3 {
			ask(t, h, "192.0.2.1:4711", nil)
		}
		entries := logs.FilterLevelExact(zapcore.ErrorLevel).All()
		if len(entries) != 1 || entries[0].Message != message || entries[0].ContextMap()["placeholder"] != tc.placeholder {
			t.Errorf("%s: errors %+v, want one that names %s", tc.name, entries, tc.placeholder)
			continue
		}
		if got := entries[0].ContextMap()["place"]; got != "Caddyfile:7" {
			t.Errorf("%s: the error names the place %v, want that of the zone", tc.name, got)
		}
		if got, _ := entries[0].ContextMap()["did_you_mean"].(string); got != tc.nearest {
			t.Errorf("%s: did you mean %q? Want %q", tc.name, got, tc.nearest)
		}
	}
}

func TestKnownPlaceholderIsNotLogged(t *testing.T) {
	for _, tc := range []struct {
		name, zone string
		set        map[string]string
	}{
		{"empty", `{"key": "{my_tier}", "on_missing_key": "skip", "limit": {"unlimited": true}}`, map[string]string{"my_tier": ""}},
		{"of Caddy", `{"key": "{http.request.uri.query.q}{header.X-None}{http.vars.x}", "on_missing_key": "skip",
			"limit": {"unlimited": true}}`, nil},
		{"of some requests", `{"key": "{http.regexp.name.1}", "on_missing_key": "skip", "limit": {"unlimited": true}}`, nil},
		{"of a user", `{"key": "{http.auth.user.plan}", "on_missing_key": "skip", "limit": {"unlimited": true}}`, nil},
	} {
		h, logs := observed(t, tc.zone)
		ask(t, h, "192.0.2.1:4711", tc.set)
		for range 100 / 2 {
			ask(t, h, "192.0.2.1:4711", nil)
		}
		if got := logs.All(); len(got) != 0 {
			t.Errorf("%s: logged %+v", tc.name, got)
		}
	}
}

func TestPlaceholderThatNoRequestHasIsLogged(t *testing.T) {
	user := map[string]string{"http.auth.user.id": "ann"}
	for _, tc := range []struct {
		key       string
		set       map[string]string
		anonymous int
	}{
		{"{http.regexp.nmae.1}", nil, 0},
		{"{http.auth.user.paln}", user, 2 * 100},
	} {
		h, logs := observed(t, `{"key": "`+tc.key+`", "on_missing_key": "skip", "limit": {"unlimited": true}}`)
		for range tc.anonymous {
			ask(t, h, "192.0.2.1:4711", nil)
		}
		for i := range 2 * 100 {
			if got := logs.Len(); i < 100 && got != 0 {
				t.Fatalf("%s: logged after %d requests", tc.key, i)
			}
			ask(t, h, "192.0.2.1:4711", tc.set)
		}
		warnings := logs.FilterField(zap.String("placeholder", tc.key)).FilterField(zap.String("place", "Caddyfile:7"))
		if got := warnings.Len(); got != 1 {
			t.Errorf("%s: %d warnings, want 1", tc.key, got)
		}
	}
}
