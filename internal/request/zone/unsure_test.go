package zone

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func TestKnownPlaceholdersCostNothing(t *testing.T) {
	for _, key := range []string{"{client_ip}", "{header.X-Api-Key}:{http.vars.x}", "static", "{http.auth.user.id}"} {
		z := compiledZone(t, `{"key": "`+key+`", "limit": {"block": true}}`)
		if len(z.unsure) != 0 {
			t.Errorf("%s: %d placeholders are checked on each request, want none", key, len(z.unsure))
		}
	}
}

func TestLegacyZonesAreWarnedAbout(t *testing.T) {
	for _, key := range []string{"client_ip", "http.request.host", "{remote_ip}", "{remote}", "{uuid}"} {
		z := compiledZone(t, `{"key": "`+key+`", "window": "1m", "max_events": 5}`)
		if len(z.Warnings) != 1 {
			t.Errorf("%s: warnings %v, want one", key, z.Warnings)
		}
	}
	z := compiledZone(t, `{"key": "{client_ip}", "window": "1m", "max_events": 5, "ipv4_prefix": 0, "ipv6_prefix": 0}`)
	if len(z.Warnings) != 0 {
		t.Errorf("prefixes of 0: warnings %v, want none: they are unset there", z.Warnings)
	}
}

func TestDoubtfulKeysAreWarnedAbout(t *testing.T) {
	z := compiledZone(t, `{"key": "{header.X-Request-ID}", "limit": {"block": true}}`)
	if len(z.Warnings) != 1 {
		t.Errorf("warnings %v, want one", z.Warnings)
	}
}

// JSON takes the shorthands of the Caddyfile too.
func TestShorthandsInJSON(t *testing.T) {
	z := compiledZone(t, `{"key": "{client_ip}:{header.X-Api-Key}:{path.0}", "limit": {"block": true}}`)
	r := httptest.NewRequest(http.MethodGet, "/users/7", nil)
	r.Header.Set("X-Api-Key", "sk")
	r.RemoteAddr = "192.0.2.1:4711"
	repl := caddy.NewReplacer()
	r = caddyhttp.PrepareRequest(r, repl, nil, new(caddyhttp.Server))
	if got, want := z.Key.Text(r, repl), "192.0.2.1:sk:users"; got != want {
		t.Errorf("key = %q, want %q", got, want)
	}
}
