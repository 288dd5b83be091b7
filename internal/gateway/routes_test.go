package gateway

import (
	"net/http"
	"slices"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"
)

func TestSitesOfServer(t *testing.T) {
	inNamed, inErrors, inSubroute := new(Handler), new(Handler), new(Handler)
	route := func(handlers ...caddyhttp.MiddlewareHandler) caddyhttp.Route {
		return caddyhttp.Route{Handlers: handlers}
	}
	server := &caddyhttp.Server{
		Routes: caddyhttp.RouteList{{
			MatcherSets: caddyhttp.MatcherSets{{&caddyhttp.MatchHost{"a.example"}}, {&caddyhttp.MatchHost{"b.example"}, &caddyhttp.MatchPath{"/b"}}},
			Handlers: []caddyhttp.MiddlewareHandler{
				&caddyhttp.VarsMiddleware{"plan": "{http.request.header.X-Plan}", "n": 1},
				&caddyhttp.Invoke{Name: "itself"}, &caddyhttp.Invoke{Name: "unknown"},
				&caddyhttp.Subroute{
					Routes: caddyhttp.RouteList{route(&caddyhttp.StaticError{StatusCode: "429"}, inSubroute)},
					Errors: &caddyhttp.HTTPErrorConfig{Routes: caddyhttp.RouteList{route(inErrors)}},
				},
				&headers.Handler{Response: new(headers.RespHeaderOps)},
				&headers.Handler{Request: &headers.HeaderOps{
					Set: http.Header{
						"x-fixed": {"a"}, "X-Secret": {"Bearer {env.SECRET}"}, "X-User": {"{http.auth.user.id}"}, "X-Plan": {"{plan}"},
					},
					Replace: map[string][]headers.Replacement{"X-Edited": nil},
					Delete:  []string{"X-Gone"},
				}},
			},
		}},
		NamedRoutes: map[string]*caddyhttp.Route{"itself": {Handlers: []caddyhttp.MiddlewareHandler{
			inNamed, &caddyhttp.Invoke{Name: "itself"},
		}}},
		Errors: &caddyhttp.HTTPErrorConfig{Routes: caddyhttp.RouteList{{
			MatcherSets: caddyhttp.MatcherSets{{&caddyhttp.MatchExpression{Expr: "{http.error.status_code} in [404, 429]"}}},
		}}},
	}
	sites := sitesOf(server).all
	if len(sites) != 2 {
		t.Fatalf("sites = %d, want 2", len(sites))
	}
	s, errorRoutes := sites[0], sites[1]
	if want := []string{"a.example", "b.example"}; !slices.Equal(s.hosts, want) {
		t.Errorf("hosts = %v, want %v", s.hosts, want)
	}
	if want := []*Handler{inNamed, inSubroute, inErrors}; !slices.Equal(s.handlers, want) {
		t.Errorf("handlers = %p, want %p", s.handlers, want)
	}
	if len(s.vars) != 1 || s.vars["plan"] != "{http.request.header.X-Plan}" || !s.returns429 || s.page429 || s.errorRoute {
		t.Errorf("site = %+v, want the variable plan, and an error 429 without a page for it", s)
	}
	for field, want := range map[string]bool{
		"X-Fixed": true, "X-Secret": true, "X-Edited": true, "X-User": false, "X-Plan": false, "X-Gone": false,
	} {
		if s.replaced[field] != want {
			t.Errorf("%s is replaced = %v, want %v", field, s.replaced[field], want)
		}
	}
	if !errorRoutes.errorRoute || !errorRoutes.page429 || len(errorRoutes.hosts) != 0 {
		t.Errorf("error routes = %+v, want a page for 429 at all hosts", errorRoutes)
	}
}

func TestSitesOverlap(t *testing.T) {
	all, ab, bc, d := &site{}, &site{hosts: []string{"a", "b"}}, &site{hosts: []string{"b", "c"}}, &site{hosts: []string{"d"}}
	index := &siteIndex{byHost: make(map[string][]*site)}
	for _, s := range []*site{all, ab, bc, d} {
		index.add(s)
	}
	for s, want := range map[*site][]*site{
		all: {all, ab, bc, d}, ab: {all, ab, ab, bc}, bc: {all, ab, bc, bc}, d: {all, d}, {hosts: []string{"e"}}: {all},
	} {
		if got := slices.Collect(index.overlapping(s)); !slices.Equal(got, want) {
			t.Errorf("sites that overlap %v = %v, want %v", s.hosts, got, want)
		}
	}
}

func TestMatches429(t *testing.T) {
	for expression, want := range map[string]bool{
		"{http.error.status_code} in [429]":                                           true,
		"{http.error.status_code} in [404, 429, 500]":                                 true,
		"{http.error.status_code} == 429":                                             true,
		"{http.error.status_code}==429":                                               true,
		"{http.error.status_code} != 429":                                             false,
		"{http.error.status_code} in [404]":                                           false,
		"{http.error.status_code} == 4290":                                            false,
		"{http.error.status_code} >= 400 && {http.error.status_code} <= 499":          false,
		"{http.reverse_proxy.status_code} == 429":                                     false,
		"{http.error.status_code} >= 500 && 1 == 1 || {http.error.status_code} == 42": false,
	} {
		if got := matches429(&caddyhttp.MatchExpression{Expr: expression}); got != want {
			t.Errorf("%s is for 429 = %v, want %v", expression, got, want)
		}
	}
	if matches429(&caddyhttp.MatchPath{"/429"}) {
		t.Error("a path is for 429")
	}
}
