package zone

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func TestMatchWarnings(t *testing.T) {
	path := func(patterns ...string) caddyhttp.MatcherSet {
		m := caddyhttp.MatchPath(patterns)
		if err := m.Provision(caddy.Context{}); err != nil {
			t.Fatal(err)
		}
		return caddyhttp.MatcherSet{&m}
	}
	host := func(hosts ...string) caddyhttp.MatcherSet {
		m := caddyhttp.MatchHost(hosts)
		return caddyhttp.MatcherSet{&m}
	}
	const noRequest = "endpoint POST /Login gets no request"
	for _, tc := range []struct {
		sets caddyhttp.MatcherSets
		want string
	}{
		{nil, ""},
		{caddyhttp.MatcherSets{path("/api/*")}, noRequest},
		{caddyhttp.MatcherSets{path("/api/*", "/login")}, ""},
		{caddyhttp.MatcherSets{path("/LOGIN/*")}, ""},
		{caddyhttp.MatcherSets{path("/api/*"), path("*")}, ""},
		{caddyhttp.MatcherSets{path("/{http.vars.x}")}, ""},
		{caddyhttp.MatcherSets{path("login", "/*")}, `path "login" starts with neither / nor *`},
		{caddyhttp.MatcherSets{{}}, "match has an empty set"},
		{caddyhttp.MatcherSets{host("example.com", "*.example.org", "[::1]", "{env.HOST}:1")}, ""},
		{caddyhttp.MatcherSets{host("example.com:8080")}, "use example.com"},
		{caddyhttp.MatcherSets{host("https://example.com/a")}, "use example.com"},
	} {
		z := compiledZone(t, `{"key": "{client_ip}", "limit": "10/1m", "endpoints": [{"methods": ["POST"], "path": "/Login", "limit": "5/1m"}]}`)
		z.Matchers = tc.sets
		warnings := z.MatchWarnings()
		if text := strings.ToLower(fmt.Sprint(warnings)); len(warnings) > 1 || (len(warnings) > 0) != (tc.want != "") ||
			!strings.Contains(text, strings.ToLower(tc.want)) {
			t.Errorf("%v: warnings %v, want %q", tc.sets, warnings, tc.want)
		}
	}
}
