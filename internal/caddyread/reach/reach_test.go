package reach

import (
	"net/http"
	"slices"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// A limit is a wanted handler.
type limit struct{ name string }

func (*limit) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return next.ServeHTTP(w, r)
}

type handlers = []caddyhttp.MiddlewareHandler

var (
	zone    = &limit{"zone"}
	other   = &limit{"other"}
	respond = &caddyhttp.StaticResponse{}
	proxy   = &reverseproxy.Handler{}
	music   = caddyhttp.MatcherSets{{&caddyhttp.MatchPath{"/music/*"}}}
	host    = caddyhttp.MatcherSets{{&caddyhttp.MatchHost{"a.example"}}}
)

// in returns a handler with nested routes.
func in(routes ...caddyhttp.Route) *caddyhttp.Subroute { return &caddyhttp.Subroute{Routes: routes} }

func route(h ...caddyhttp.MiddlewareHandler) caddyhttp.Route { return caddyhttp.Route{Handlers: h} }

func matched(sets caddyhttp.MatcherSets, h ...caddyhttp.MiddlewareHandler) caddyhttp.Route {
	return caddyhttp.Route{MatcherSets: sets, Handlers: h}
}

// handle returns a route like those that the directive `handle` makes.
func handle(sets caddyhttp.MatcherSets, h ...caddyhttp.MiddlewareHandler) caddyhttp.Route {
	return caddyhttp.Route{Group: "g", MatcherSets: sets, Handlers: handlers{in(route(h...))}}
}

func TestFind(t *testing.T) {
	forwardAuth := &reverseproxy.Handler{HandleResponse: []caddyhttp.ResponseHandler{{}}}
	withErrors := in(route(proxy))
	withErrors.Errors = &caddyhttp.HTTPErrorConfig{Routes: caddyhttp.RouteList{route(zone)}}
	for name, tc := range map[string]struct {
		routes caddyhttp.RouteList
		want   []string // the handler, the handler that answers, and the requests
	}{
		"before what answers":        {caddyhttp.RouteList{route(zone), route(respond)}, nil},
		"after respond":              {caddyhttp.RouteList{route(respond), route(zone)}, []string{"zone: respond or redir"}},
		"in one route":               {caddyhttp.RouteList{route(respond, zone)}, []string{"zone: respond or redir"}},
		"after reverse_proxy":        {caddyhttp.RouteList{route(in(route(proxy), route(zone)))}, []string{"zone: reverse_proxy"}},
		"after what route answers":   {caddyhttp.RouteList{route(in(route(proxy))), route(zone)}, []string{"zone: reverse_proxy"}},
		"after file_server":          {caddyhttp.RouteList{route(new(fileserver.FileServer), zone)}, []string{"zone: file_server"}},
		"after error":                {caddyhttp.RouteList{route(new(caddyhttp.StaticError), zone)}, []string{"zone: error"}},
		"nested after respond":       {caddyhttp.RouteList{route(respond), matched(music, in(route(zone)))}, []string{"zone: respond or redir"}},
		"after matched respond":      {caddyhttp.RouteList{matched(music, respond), route(zone)}, nil},
		"after pass_thru":            {caddyhttp.RouteList{route(&fileserver.FileServer{PassThru: true}, zone)}, nil},
		"after forward_auth":         {caddyhttp.RouteList{route(forwardAuth, zone)}, nil},
		"after early hints":          {caddyhttp.RouteList{route(&caddyhttp.StaticResponse{StatusCode: "103"}, zone)}, nil},
		"after a status of requests": {caddyhttp.RouteList{route(&caddyhttp.StaticResponse{StatusCode: "{vars.s}"}, zone)}, nil},
		"after errors":               {caddyhttp.RouteList{route(withErrors), route(other)}, nil},
		"another site":               {caddyhttp.RouteList{matched(host, in(route(respond))), route(zone)}, nil},
		"a handle of a host":         {caddyhttp.RouteList{handle(host, respond), route(zone)}, nil},
		"after handle": {
			caddyhttp.RouteList{handle(music, proxy), route(in(route(zone, proxy)))},
			[]string{`zone: reverse_proxy path ["/music/*"]`},
		},
		"after two handles": {
			caddyhttp.RouteList{handle(music, proxy), handle(nil, respond), route(zone)}, []string{"zone: respond or redir"},
		},
		"after a handle that lets requests on": {caddyhttp.RouteList{handle(music), handle(nil, respond), route(zone)}, nil},
		"after handle, as written":             {caddyhttp.RouteList{handle(music, proxy), route(zone)}, nil},
		"after a handle with a limit":          {caddyhttp.RouteList{handle(music, other, proxy), route(zone)}, nil},
		"in the other handle":                  {caddyhttp.RouteList{handle(music, proxy), handle(nil, zone, proxy)}, nil},
		"for other requests":                   {caddyhttp.RouteList{handle(music, proxy), matched(music, zone)}, nil},
		"named, and invoked early":             {caddyhttp.RouteList{route(&caddyhttp.Invoke{Name: "n"}), route(respond), route(&caddyhttp.Invoke{Name: "n"})}, nil},
		"named, and invoked late":              {caddyhttp.RouteList{route(respond), route(&caddyhttp.Invoke{Name: "n"})}, []string{"zone: respond or redir"}},
		"after a named route":                  {caddyhttp.RouteList{route(&caddyhttp.Invoke{Name: "answers"}), route(zone)}, []string{"zone: reverse_proxy"}},
		"itself invoked":                       {caddyhttp.RouteList{route(&caddyhttp.Invoke{Name: "itself"}), route(zone)}, nil},
	} {
		named := map[string]*caddyhttp.Route{
			"n": {Handlers: handlers{zone}}, "answers": {Handlers: handlers{proxy}},
			"itself": {Handlers: handlers{&caddyhttp.Invoke{Name: "itself"}}},
		}
		var got []string
		server := &caddyhttp.Server{Routes: tc.routes, NamedRoutes: named}
		isLimit := func(h caddyhttp.MiddlewareHandler) bool { _, is := h.(*limit); return is }
		for _, gap := range Find(server, isLimit) {
			text := gap.Handler.(*limit).name + ": " + Directive(gap.By)
			if len(gap.Requests) > 0 {
				text += " " + Describe(gap.Requests)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
