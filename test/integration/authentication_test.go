package integration

import (
	"net/http"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// testToken authenticates as plugins for JWT do: it takes the user and the plan from `Authorization: Bearer
// <user>.<plan>`.
type testToken struct{}

func init() {
	caddy.RegisterModule(testToken{})
	httpcaddyfile.RegisterHandlerDirective("test_token",
		func(httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) { return testToken{}, nil })
	httpcaddyfile.RegisterDirectiveOrder("test_token", httpcaddyfile.After, "forward_auth")
}

func (testToken) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.test_token", New: func() caddy.Module { return new(testToken) }}
}

func (testToken) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	user, plan, found := strings.Cut(token, ".")
	if !found {
		w.WriteHeader(http.StatusUnauthorized)
		return nil
	}
	repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	repl.Set("http.auth.user.id", user)
	repl.Set("http.auth.user.plan", plan)
	return next.ServeHTTP(w, r)
}

// authServer starts a server for forward_auth, which knows the users of `Authorization: Bearer <user>`. It
// sends the plan of users who have one.
func authServer(t *testing.T) string {
	return upstream(t, func(w http.ResponseWriter, r *http.Request) {
		user, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		plan, known := map[string]string{"alice": "", "bob": "pro"}[user]
		if !known {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-User", user)
		if plan != "" {
			w.Header().Set("X-Plan", plan)
		}
	})
}

// An authentication is a way to tell users apart: the directive, the zone's placeholders, and the
// headers by which alice, who has no plan, and bob, who is pro, authenticate.
type authentication struct {
	name, directive string
	user, plan      string
	alice, bob      string
	forged          []string // headers by which a client claims another user and plan
	placeholder     string   // of the user
}

func authentications(t *testing.T) []authentication {
	const hash = "$2a$04$s0g8Gj9jqQ29sjBOApX.Z.ASrUtprmLIv3wQoZsb3//Klo7T541ai" // wonderland
	return []authentication{
		{
			name:      "forward_auth",
			directive: "forward_auth " + authServer(t) + " {\nuri /check\ncopy_headers X-User X-Plan\n}",
			user:      "{header.X-User}", plan: "{header.X-Plan} trusted",
			alice: "Authorization: Bearer alice", bob: "Authorization: Bearer bob",
			forged:      []string{"X-User: mallory", "X-Plan: enterprise"},
			placeholder: "{http.request.header.X-User}",
		},
		{
			name:      "basic_auth",
			directive: "basic_auth {\nalice " + hash + "\nbob " + hash + "\n}",
			user:      "{http.auth.user.id}", plan: "{http.auth.user.id}", // the user bob is in the tier of his name
			alice: "Authorization: Basic YWxpY2U6d29uZGVybGFuZA==", bob: "Authorization: Basic Ym9iOndvbmRlcmxhbmQ=",
			placeholder: "{http.auth.user.id}",
		},
		{
			name:      "token",
			directive: "test_token",
			user:      "{http.auth.user.id}", plan: "{http.auth.user.plan}",
			alice: "Authorization: Bearer alice.", bob: "Authorization: Bearer bob.pro",
			placeholder: "{http.auth.user.id}",
		},
	}
}

// site returns a site that limits users, in the directive rate_limit or rate_limit_authenticated.
func (a *authentication) site(limiter string) string {
	return a.directive + "\n" + limiter + ` {
		zone user {
			key ` + a.user + `
			limit 2/1h
			tier ` + a.plan + ` {
				pro 3/1h
				bob 3/1h
				enterprise unlimited
			}
		}
	}
	respond hello`
}

const beforeAuthentication = `caddy_rate_limit_before_authentication_total{zone="user"}`

func TestZoneBehindAuthentication(t *testing.T) {
	for _, a := range authentications(t) {
		t.Run(a.name, func(t *testing.T) {
			g := serve(t, a.site("rate_limit_authenticated"))
			g.get("/", a.forged...).is(401).lacks("X-RateLimit-Limit")
			g.get("/", a.alice, "X-Forwarded-For: 192.0.2.1").admitted(1)
			g.get("/", append(a.forged, a.alice, "X-Forwarded-For: 192.0.2.2")...).admitted(0)
			g.get("/", append(a.forged, a.alice, "X-Forwarded-For: 192.0.2.3")...).rejected()
			for remaining := 2; remaining >= 0; remaining-- {
				g.get("/", a.bob).admitted(remaining)
			}
			g.get("/", append(a.forged, a.bob)...).rejected()
			if lines := g.logged("before authentication"); len(lines) != 0 {
				t.Errorf("log = %v, want nothing about the order", lines)
			}
			if n := g.metric(beforeAuthentication); n != 0 {
				t.Errorf("requests before authentication = %v, want 0", n)
			}
		})
	}
}

// Before authentication, the user is missing, so all requests count by address.
func TestZoneBeforeAuthentication(t *testing.T) {
	for _, a := range authentications(t) {
		t.Run(a.name, func(t *testing.T) {
			g := serve(t, a.site("rate_limit"))
			for range 2 {
				g.get("/", a.bob).is(200)
			}
			g.get("/", a.bob).rejected()
			g.reportsOrder(a.placeholder, 2)
		})
	}
}

// Before forward_auth, the headers are what the client writes.
func TestForgedHeadersBeforeAuthentication(t *testing.T) {
	a := authentications(t)[0]
	g := serve(t, a.site("rate_limit"))
	for range 10 {
		g.get("/", append(a.forged, a.bob)...).is(200)
	}
	g.get("/", a.forged...).is(401) // nothing sets another value
	g.reportsOrder(a.placeholder, 10)
}

// A placeholder of the tier that is read too early is reported, too, even if the configuration says the tier
// of some keys.
func TestTierBeforeAuthentication(t *testing.T) {
	g := serve(t, "rate_limit {\nzone user {\nkey {client_ip}\nlimit 9/1h\ntier {http.auth.user.plan} {\npro 3/1h\nkeys 192.0.2.* pro\n}\n}\n}\n"+
		"test_token\nrespond hello")
	g.get("/", "Authorization: Bearer bob.pro").admitted(8)
	g.reportsOrder("{http.auth.user.plan}", 1)
}

// Two sites with one zone report it together.
func TestSitesBeforeAuthentication(t *testing.T) {
	a := authentications(t)[0]
	g := newGateway(t)
	g.mustLoad(g.caddyfile("", a.site("rate_limit"), a.site("rate_limit")))
	g.get("/", a.alice).is(200)
	g.requestAt(g.second, "GET", "/", a.alice).is(200)
	g.reportsOrder(a.placeholder, 2)
}

// reportsOrder checks that one error names the placeholder that the zone user reads too early, and that the
// metric counts the requests.
func (g *gateway) reportsOrder(placeholder string, requests float64) {
	g.t.Helper()
	lines := g.logged("before authentication")
	if len(lines) != 1 || lines[0]["level"] != "error" || lines[0]["zone"] != "user" || lines[0]["placeholder"] != placeholder ||
		!strings.Contains(lines[0]["msg"].(string), "use rate_limit_authenticated") {
		g.t.Errorf("log = %v, want one error with zone user, placeholder %s and the remedy", lines, placeholder)
	}
	if n := g.metric(beforeAuthentication); n != requests {
		g.t.Errorf("requests before authentication = %v, want %v", n, requests)
	}
}

// A site has both directives: addresses are limited before the password is checked, and users after that.
func TestZonesOnBothSidesOfAuthentication(t *testing.T) {
	a := authentications(t)[1]
	g := serve(t, `rate_limit {
		zone address {
			key {client_ip}
			limit 5/1h
		}
	}
	`+a.site("rate_limit_authenticated"))
	g.get("/").is(401)
	r := g.get("/", a.alice).admitted(1)
	if got := r.limits(); got["address"].r != 3 || got["user"].r != 1 {
		t.Errorf("RateLimit = %+v, want address r=3, user r=1", got)
	}
	g.get("/", a.alice).admitted(0)
	g.get("/", a.alice).rejected() // this request is not charged to the address
	g.get("/").is(401)
	g.get("/").is(401)
	g.get("/").rejected()
}

// Sites change the headers of keys for their upstreams. Such a change is no authentication.
func TestChangedHeadersWithoutAuthentication(t *testing.T) {
	addr := upstream(t, func(http.ResponseWriter, *http.Request) {})
	const zone = `rate_limit {
		zone user {
			key {header.X-User}
			limit 100/1h
		}
	}
	`
	t.Setenv("FLEETLIMIT_TEST_PASSWORD", "secret")
	for _, site := range []string{
		"reverse_proxy " + addr + " {\nheader_up X-User {http.request.uuid}\nheader_up -X-Forwarded-For\n}",
		"reverse_proxy " + addr + " {\nrewrite /other\nmethod POST\nheader_up +X-User more\n}",
		"request_header -X-User\nreverse_proxy " + addr,
		"request_header X-User gateway\nreverse_proxy " + addr,
		"request_header X-User \"Bearer {env.FLEETLIMIT_TEST_PASSWORD}\"\nreverse_proxy " + addr,
		"handle /* {\nrequest_header X-User ^al al-\nreverse_proxy " + addr + "\n}",
		"forward_auth " + authServer(t) + " {\nuri /\ncopy_headers X-Plan\n}\nreverse_proxy " + addr,
	} {
		t.Run(site, func(t *testing.T) {
			g := serve(t, zone+site)
			g.get("/", "X-User: alice", "Authorization: Bearer bob").admitted(99)
			g.get("/", "X-User: bob", "Authorization: Bearer bob").admitted(99)
			if n, lines := g.metric(beforeAuthentication), g.logged("before authentication"); n != 0 || len(lines) != 0 {
				t.Errorf("requests before authentication = %v, log = %v, want none", n, lines)
			}
		})
	}
}
