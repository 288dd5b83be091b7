package keytemplate

import (
	"strings"
	"testing"
)

func TestPlaceholderValue(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST", "gold")
	for _, tc := range []struct {
		placeholder, value string // value is "" if it is missing
	}{
		{"{http.request.header.x-tier}", "silver"},
		{"{http.request.header.X-Cost}", ""},
		{"{http.request.header.X-Spaces}", "gold"},
		{"{http.vars.plan}", "pro"},
		{"{http.vars.weight}", "2.5"},
		{"{http.vars.none}", ""},
		{"{http.auth.user.tier}", "bronze"},
		{"{http.auth.user.none}", ""},
		{"{client_ip}", "2001:db8::1"},
		{"{http.request.host}", "api.example.com"},
		{"{http.request.uri.query.q2}", "{x}"},
		{"{env.FLEETLIMIT_TEST}", "gold"},
	} {
		p, err := ParsePlaceholder(tc.placeholder, true)
		if err != nil {
			t.Errorf("ParsePlaceholder(%q) = %v", tc.placeholder, err)
			continue
		}
		r, repl := keyRequest("2001:db8::1", "X-Tier", "silver", "X-Spaces", " gold\t", "X-Cost", "1", "X-Cost", "2")
		repl.Set("http.auth.user.tier", "bronze")
		if value, has := p.Value(r, repl); value != tc.value || (has == Present) != (tc.value != "") {
			t.Errorf("%s reads %q, presence %v; want %q", tc.placeholder, value, has, tc.value)
		}
	}
}

func TestParsePlaceholderRefuses(t *testing.T) {
	for _, tc := range []struct{ placeholder, want string }{
		{"", "use exactly one"},
		{"pro", "use exactly one"},
		{"http.vars.plan", "use exactly one"},
		{"x{http.vars.plan}", "use exactly one"},
		{"{http.vars.plan}{http.vars.plan}", "use exactly one"},
		{"{http.vars.plan", `use "}"`},
		{"{}", "names no placeholder"},
		{"{env.FLEETLIMIT_TEST_UNSET}", "empty when the configuration loads"},
	} {
		if _, err := ParsePlaceholder(tc.placeholder, true); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ParsePlaceholder(%q) = %v, want an error that says %q", tc.placeholder, err, tc.want)
		}
	}
}

func TestClientControlled(t *testing.T) {
	for _, tc := range []struct {
		name string
		want bool
	}{
		{"http.request.header.X-Tier", true},
		{"http.request.uri.query.tier", true},
		{"http.request.uri.query", true},
		{"http.request.cookie.tier", true},
		{"http.request.uri", true},
		{"http.request.uri.path", true},
		{"http.request.uri.path.0", true},
		{"http.request.orig_uri.path", true},
		{"http.request.host", true},
		{"http.request.hostport", true},
		{"http.request.host.labels.2", true},
		{"http.request.method", true},
		{"http.request.body", true},
		{"http.request.tls.server_name", true},
		{"http.request.something_new", true},
		{"http.regexp.tier.1", true},
		{"http.matchers.file.relative", true},
		{"http.request.remote.host", false},
		{"http.request.remote.host/24,64", false},
		{"http.request.local.port", false},
		{"http.request.scheme", false},
		{"http.request.uuid", false},
		{"http.request.tls.client.subject", false},
		{"http.auth.user.tier", false},
		{"http.vars.tier", false},
		{"http.vars.client_ip", false},
		{"client_ip", false},
		{"remote_host", false},
		{"env.TIER", false},
	} {
		if got := clientControlled(tc.name); got != tc.want {
			t.Errorf("clientControlled(%q) = %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestNoPathIsSlash(t *testing.T) {
	r, repl := keyRequest("192.0.2.1")
	r.URL.Path = ""
	if got, presence := newReader("http.request.uri.path")(r, repl); got != "/" || presence != Present {
		t.Errorf("path = %q, %v, want /", got, presence)
	}
}
