package reach

import (
	"net/url"
	"slices"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
)

// TestWays checks which paths a request to /a may have at the zone, with nested and named routes,
// groups, and handlers that answer.
func TestWays(t *testing.T) {
	to := func(uri string) *rewrite.Rewrite { return &rewrite.Rewrite{URI: uri} }
	found := caddyhttp.MatcherSets{{&fileserver.MatchFile{TryFiles: []string{"{http.request.uri.path}", "index.php", "=404"}}}}
	first := func(r caddyhttp.Route) caddyhttp.Route { r.Group = "g"; return r }
	for name, tc := range map[string]struct {
		routes caddyhttp.RouteList
		want   []string // nil if nothing changes the path
	}{
		"nothing":             {caddyhttp.RouteList{route(zone)}, nil},
		"only behind":         {caddyhttp.RouteList{route(zone), route(to("/b"))}, nil},
		"before":              {caddyhttp.RouteList{route(to("/b")), route(zone)}, []string{"/b"}},
		"twice":               {caddyhttp.RouteList{route(to("/b"), to("/c{http.request.uri}"), zone)}, []string{"/c/b"}},
		"of others":           {caddyhttp.RouteList{matched(music, to("/b")), route(zone)}, []string{"/a"}},
		"of some":             {caddyhttp.RouteList{matched(host, to("/b")), route(zone)}, []string{"/a", "/b"}},
		"of those answered":   {caddyhttp.RouteList{matched(host, to("/b"), respond), route(zone)}, nil},
		"nested":              {caddyhttp.RouteList{route(in(route(to("/b")))), route(in(route(zone)))}, []string{"/b"}},
		"others do not come":  {caddyhttp.RouteList{route(to("/b")), matched(music, zone)}, []string{}},
		"one of a group":      {caddyhttp.RouteList{first(matched(host, to("/b"))), first(route(to("/c"), zone))}, []string{"/c"}},
		"files":               {caddyhttp.RouteList{matched(found, to("{http.matchers.file.relative}")), route(zone)}, []string{"/a", "/index.php"}},
		"a terminal route":    {caddyhttp.RouteList{{MatcherSets: host, Handlers: handlers{to("/b")}, Terminal: true}, route(zone)}, nil},
		"named":               {caddyhttp.RouteList{route(&caddyhttp.Invoke{Name: "b"}), route(zone)}, []string{"/b"}},
		"named, which invoke": {caddyhttp.RouteList{route(to("/b"), &caddyhttp.Invoke{Name: "zone"})}, []string{"/b"}},
	} {
		named := map[string]*caddyhttp.Route{
			"b": {Handlers: handlers{to("/b"), &caddyhttp.Invoke{Name: "b"}}}, "zone": {Handlers: handlers{zone}},
		}
		server := &caddyhttp.Server{Routes: tc.routes, NamedRoutes: named}
		ways := Ways(server, func(h caddyhttp.MiddlewareHandler) bool { return h == zone })
		if (len(ways) == 1) != (tc.want != nil) {
			t.Errorf("%s: ways = %d, want one if the path may change", name, len(ways))
			continue
		}
		for _, w := range ways {
			got := []string{}
			for _, r := range w.Rewrite("GET", &url.URL{Path: "/a"}) {
				got = append(got, r.URL.Path)
				if (r.By == "") != (r.URL.Path == "/a") {
					t.Errorf("%s: %s is made by %q", name, r.URL.Path, r.By)
				}
			}
			if slices.Sort(got); !slices.Equal(got, tc.want) {
				t.Errorf("%s: paths = %q, want %q", name, got, tc.want)
			}
		}
	}
}
