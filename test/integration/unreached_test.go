package integration

import (
	"strings"
	"testing"
)

const oneZone = "rate_limit {\nzone all {\nkey static\nlimit 1/1h\n}\n}\n"

// TestUnreachedHandler loads sites in which no request reaches a zone, because of the order in which somebody
// has put the directives.
func TestUnreachedHandler(t *testing.T) {
	g := newGateway(t)
	for name, tc := range map[string]struct{ options, site, answers string }{
		"respond in route":       {"", "route {\nrespond ok\n" + oneZone + "}", "respond or redir"},
		"reverse_proxy in route": {"", "route {\nreverse_proxy localhost:1\n" + oneZone + "}", "reverse_proxy"},
		"order last":             {"order rate_limit last\n", oneZone + "respond ok", "respond or redir"},
		"after all handles":      {"", "handle /a* {\nfile_server\n}\nhandle {\nerror 404\n}\nroute {\n" + oneZone + "}", "error"},
	} {
		err := g.load(g.caddyfile(tc.options, tc.site))
		if err == nil || !strings.Contains(err.Error(), tc.answers+" before it answers every request: use `route`") ||
			!strings.Contains(err.Error(), "the rate_limit at Caddyfile:") {
			t.Errorf("%s: %v, want an error that names both", name, err)
		}
	}
	for name, site := range map[string]string{
		"after forward_auth":    "route {\nforward_auth localhost:1 {\nuri /auth\n}\n" + oneZone + "respond ok\n}",
		"after matched respond": "route {\nrespond /health ok\n" + oneZone + "respond ok\n}",
		"after pass_thru":       "route {\nfile_server {\npass_thru\n}\n" + oneZone + "respond ok\n}",
		"after php_fastcgi":     "route {\nphp_fastcgi localhost:1\n" + oneZone + "respond ok\n}",
		"in handles":            "handle /a* {\nreverse_proxy localhost:1\n}\nhandle {\n" + oneZone + "respond ok\n}",
		"in handle_errors":      "handle_errors {\n" + oneZone + "respond no\n}\nrespond ok",
		"by default":            oneZone + "respond ok\nhandle /music/* {\nrespond music\n}",
	} {
		if err := g.load(g.caddyfile("", site)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	const warning = "requests do not reach rate_limit, because a `handle` before it answers them: use rate_limit outside " +
		"`route`, which Caddy puts before `handle`, or in that `handle` too"
	if got := g.logged(warning); len(got) != 0 {
		t.Errorf("the log has %v", got)
	}
	g.mustLoad(g.caddyfile("", "handle /music/* {\nrespond music\n}\nroute {\n"+oneZone+"respond ok\n}"))
	if got := g.logged(warning); len(got) != 1 || got[0]["requests"] != `path ["/music/*"]` || got[0]["answered_by"] != "respond or redir" {
		t.Errorf("the log has %v, want one line about /music/*", got)
	}
	g.get("/music/a").is(200)
	g.get("/music/a").is(200)
}
