package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// userZone returns a directive with a zone that counts users, with lines in the zone and in the directive.
func userZone(inZone, inDirective string) string {
	return "rate_limit {\nzone user {\nkey {header.X-User}\nlimit 5/1h\n" + inZone + "\n}\n" + inDirective + "\n}\n"
}

// A value that a client writes is still the client's after vars has copied it.
func TestVariablesThatClientsControl(t *testing.T) {
	const byPlan = "tier {vars.plan} {\npro 50/1h\n}"
	const ofPlan = "value of {http.vars.plan}, because vars sets it to {http.request.header.X-Plan}"
	for _, tc := range []struct{ name, site, want string }{
		{"tier", "vars plan {header.X-Plan}\n" + userZone(byPlan, ""), ofPlan},
		{"with text", "vars plan x-{header.X-Plan}\n" + userZone(byPlan, ""), ofPlan},
		{"cost", "vars n {query.n}\n" + userZone("cost {vars.n}", ""), "value of {http.vars.n}"},
		{"cost of an endpoint", "vars n {query.n}\n" + userZone("endpoint /a 5/1h {\ncost {vars.n}\n}", ""), "value of {http.vars.n}"},
		{"nested", "handle /api/* {\nroute {\nvars plan {header.X-Plan}\n" + userZone(byPlan, "") + "}\n}", ofPlan},
		{"trusted", "vars plan {header.X-Plan}\n" + userZone("tier {vars.plan} trusted {\npro 50/1h\n}", ""), ""},
		{"fixed", "vars plan pro\n" + userZone(byPlan, ""), ""},
		{"not the client's", "vars plan {http.auth.user.plan}\n" + userZone(byPlan, ""), ""},
		{"another variable", "vars other {header.X-Plan}\n" + userZone(byPlan, ""), ""},
		{"key", "vars plan {header.X-Plan}\nrate_limit {\nzone user {\nkey {vars.plan}\nlimit 5/1h\n}\n}", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			warnings := serve(t, tc.site).logged("clients control the value")
			if tc.want == "" {
				if len(warnings) > 0 {
					t.Errorf("warnings = %v, want none", warnings)
				}
				return
			}
			if len(warnings) != 1 || warnings[0]["zone"] != "user" || !strings.Contains(warnings[0]["msg"].(string), tc.want) ||
				!strings.Contains(warnings[0]["msg"].(string), "use `trusted`") {
				t.Errorf("warnings = %v, want one with zone user, %q and the remedy", warnings, tc.want)
			}
		})
	}
}

// A page for status 429 to which no zone hands rejections over is reported: it is probably not meant to be
// unused.
func TestUnusedErrorPage(t *testing.T) {
	const page = "\nhandle_errors 429 {\nrespond slow\n}\n"
	for _, tc := range []struct {
		name, options, site string
		unused              bool
	}{
		{"429", "", userZone("", "") + page, true},
		{"404 and 429", "", userZone("", "") + "handle_errors 404 429 {\nrespond oops\n}", true},
		{"expression", "", userZone("", "") + "handle_errors {\n@slow `{err.status_code} == 429`\nrespond @slow slow\n}", true},
		{"problem", "", userZone("", "reject problem") + page, true},
		{"nested", "", "handle /api/* {\nroute {\n" + userZone("", "") + "}\n}" + page, true},
		{"authenticated", "", strings.Replace(userZone("", ""), "rate_limit", "rate_limit_authenticated", 1) + page, true},
		{"reject error", "", userZone("", "reject error") + page, false},
		{"reject error by default", "rate_limit {\ndefaults {\nreject error\n}\n}", userZone("", "") + page, false},
		{"syntax of caddy-ratelimit", "", "rate_limit {\nzone user {\nkey a\nevents 5\nwindow 1h\n}\n}" + page, false},
		{"all errors", "", userZone("", "") + "handle_errors {\nrespond oops\n}", false},
		{"a range", "", userZone("", "") + "handle_errors 4xx {\nrespond oops\n}", false},
		{"all others", "", userZone("", "") + "handle_errors {\n@other `{err.status_code} != 429`\nrespond @other oops\n}", false},
		{"the site's own 429", "", userZone("", "") + "error /slow 429" + page, false},
		{"no zones", "", "rate_limit {\ndeny 192.0.2.1\n}" + page, false},
		{"no handler", "", "respond hello" + page, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := serveWith(t, tc.options, tc.site)
			warnings := g.logged("handle_errors 429 is not used")
			if tc.unused && (len(warnings) != 1 || fmt.Sprint(warnings[0]["zones"]) != "[user]" ||
				!strings.Contains(warnings[0]["msg"].(string), "use `reject error`")) || !tc.unused && len(warnings) > 0 {
				t.Errorf("warnings = %v, want unused = %v, with zones [user] and the remedy", warnings, tc.unused)
			}
		})
	}
}

// Sites of one server are told apart by their hosts, and a named route belongs to the sites that invoke it.
func TestRoutesBelongToSites(t *testing.T) {
	g := newGateway(t)
	site := func(host, directives string) string {
		return fmt.Sprintf("http://%s:%s {\n%s\n}\n", host, redistest.Port(g.addr), directives)
	}
	const page = "\nhandle_errors 429 {\nrespond slow\n}\n"
	zone := func(name, inZone, inDirective string) string {
		return strings.Replace(userZone(inZone, inDirective), "user", name, 1)
	}
	const byPlan = "tier {vars.plan} {\npro 50/1h\n}"
	g.mustLoad(g.caddyfile("") + "&(limited) {\n" + zone("named", byPlan, "") + "}\n" +
		site("a.example:"+redistest.Port(g.addr)+", http://b.example", zone("ab", "", "")+page) +
		site("c.example", "vars plan {header.X-Plan}\n"+zone("c", "", "reject error")+page) +
		site("d.example", zone("d", byPlan, "")) +
		site("e.example", "vars plan {header.X-Plan}\ninvoke limited"+page))
	var zones []string
	for _, warning := range g.logged("handle_errors 429 is not used") {
		zones = append(zones, fmt.Sprint(warning["zones"]))
	}
	if got := strings.Join(zones, " "); got != "[ab] [named]" {
		t.Errorf("zones with an unused page = %s, want [ab] [named]", got)
	}
	if warnings := g.logged("clients control the value"); len(warnings) != 1 || warnings[0]["zone"] != "named" {
		t.Errorf("warnings = %v, want one about zone named", warnings)
	}
}

// Caddy handles no error of its error routes, so a rejection there must have a body of its own.
func TestRejectionsInErrorRoutes(t *testing.T) {
	for _, tc := range []struct {
		directive string
		want      bool
	}{
		{userZone("", "reject error"), true},
		{userZone("", ""), false},
		{userZone("", "reject problem"), false},
		{"rate_limit {\nzone user {\nkey {header.X-User}\nevents 5\nwindow 1h\n}\n}\n", true},
	} {
		site := "respond /a ok\nerror 404\nhandle_errors 404 {\n" + tc.directive + "respond gone 404\n}\n"
		warnings := serve(t, site).logged("rejections have no body")
		if got := len(warnings) == 1 && warnings[0]["zone"] == "user"; got != tc.want {
			t.Errorf("%s\nwarnings = %v, want one: %v", site, warnings, tc.want)
		}
	}
}
