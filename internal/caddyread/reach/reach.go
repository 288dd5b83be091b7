// Package reach reads Caddy's routes and matchers, and finds out which handlers requests come to.
// [Find] finds handlers that no request reaches, or not every one. [Send] finds the handlers that one
// request reaches. An [Index] finds the lists of matchers that may match a request.
package reach

import (
	"slices"
	"strconv"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// A Gap describes requests that do not reach a handler.
type Gap struct {
	Handler caddyhttp.MiddlewareHandler

	// By is the handler that answers them.
	By caddyhttp.MiddlewareHandler

	// Requests are the matchers of those requests. If it is empty, no request reaches the handler.
	Requests caddyhttp.MatcherSets
}

// Find returns the gaps of wanted handlers in the routes of a server, which must be provisioned.
//
// If a gap says that no request reaches a handler, that is certain. Find reports that some requests do
// not reach a handler only if the handler is in nested routes for all requests, behind other nested
// routes for some of them. That is what `route` after `handle` becomes, because Caddy puts the two in
// this order. If both are in one list, the order is that of the author.
func Find(server *caddyhttp.Server, wanted func(caddyhttp.MiddlewareHandler) bool) (gaps []Gap) {
	for _, routes := range routesOf(server) {
		w := walk{named: namedRoutesOf(server), wanted: wanted, reached: make(map[caddyhttp.MiddlewareHandler]bool)}
		w.list(routes, nil, nil)
		for _, g := range w.gaps {
			if len(g.Requests) > 0 || !w.reached[g.Handler] {
				gaps = append(gaps, g)
			}
		}
	}
	return gaps
}

// routesOf returns the routes of a server, and those for its errors.
func routesOf(server *caddyhttp.Server) []caddyhttp.RouteList {
	if server.Errors == nil {
		return []caddyhttp.RouteList{server.Routes}
	}
	return []caddyhttp.RouteList{server.Routes, server.Errors.Routes}
}

// namedRoutes are the named routes of a server. A walk does not enter a route that it is in.
type namedRoutes struct {
	routes  map[string]*caddyhttp.Route
	entered map[string]bool // the routes that the walk is in
}

func namedRoutesOf(server *caddyhttp.Server) namedRoutes {
	return namedRoutes{server.NamedRoutes, make(map[string]bool)}
}

// enter calls walk with the route that h invokes, unless there is none, or the walk is in it.
func (n *namedRoutes) enter(h *caddyhttp.Invoke, walk func(caddyhttp.RouteList)) {
	if route := n.routes[h.Name]; route != nil && !n.entered[h.Name] {
		n.entered[h.Name] = true
		walk(caddyhttp.RouteList{*route})
		delete(n.entered, h.Name)
	}
}

// A walk visits routes in the order in which requests pass them.
type walk struct {
	named  namedRoutes
	wanted func(caddyhttp.MiddlewareHandler) bool

	gaps    []Gap
	seen    int                                  // number of wanted handlers visited so far
	reached map[caddyhttp.MiddlewareHandler]bool // by some request: a named route may be invoked twice
}

// list visits routes, and returns the handler that has answered all requests behind them. by is the
// handler that has answered all requests before routes, or nil if none has. outer are the gaps that the
// routes around these make for handlers that are for all requests.
func (w *walk) list(routes caddyhttp.RouteList, by caddyhttp.MiddlewareHandler, outer []Gap) caddyhttp.MiddlewareHandler {
	some := outer
	passes := make(map[string]bool) // groups that have a route which lets requests pass
	for _, route := range routes {
		forAll := len(route.MatcherSets) == 0
		var here, nested []Gap
		if forAll && route.Group == "" {
			here, nested = outer, some
		}
		before := w.seen
		answer := w.handlers(route.Handlers, by, here, nested)
		switch {
		case by != nil:
		case answer == nil:
			passes[route.Group] = route.Group != ""
		case forAll && !passes[route.Group]:
			by = answer
		case !forAll && isNested(route) && w.seen == before && len(Hosts(route.MatcherSets)) == 0:
			some = append(some[:len(some):len(some)], Gap{By: answer, Requests: route.MatcherSets})
		}
	}
	return by
}

// handlers visits the handlers of a route, as list does with routes. here are the gaps for the handlers
// themselves, and nested are the gaps for the routes in them.
func (w *walk) handlers(
	handlers []caddyhttp.MiddlewareHandler, by caddyhttp.MiddlewareHandler, here, nested []Gap,
) caddyhttp.MiddlewareHandler {
	for _, h := range handlers {
		if w.wanted(h) {
			w.visit(h, by, here)
		} else if answer := w.nested(h, by, nested); by == nil {
			by = answer
		}
	}
	return by
}

// isNested reports whether route has only nested routes, as a route that `handle` makes.
func isNested(route caddyhttp.Route) bool {
	if len(route.Handlers) != 1 {
		return false
	}
	_, is := route.Handlers[0].(*caddyhttp.Subroute)
	return is
}

func (w *walk) visit(h, by caddyhttp.MiddlewareHandler, some []Gap) {
	w.seen++
	if by != nil {
		w.gaps = append(w.gaps, Gap{Handler: h, By: by})
		return
	}
	w.reached[h] = true
	for _, g := range some {
		g.Handler = h
		w.gaps = append(w.gaps, g)
	}
}

// nested visits the routes in a handler. It returns the handler that has answered all requests behind
// h.
func (w *walk) nested(h, by caddyhttp.MiddlewareHandler, some []Gap) caddyhttp.MiddlewareHandler {
	switch h := h.(type) {
	case *caddyhttp.Subroute:
		answer := w.list(h.Routes, by, some)
		if h.Errors == nil {
			return answer
		}
		w.list(h.Errors.Routes, by, nil)
		return by // the routes of an error may let requests pass
	case *caddyhttp.Invoke:
		w.named.enter(h, func(routes caddyhttp.RouteList) { by = w.list(routes, by, some) })
		return by
	}
	if by == nil && answersAlways(h) {
		return h
	}
	return by
}

// answersAlways reports whether a handler never calls the next one. It knows only Caddy's handlers.
func answersAlways(h caddyhttp.MiddlewareHandler) bool {
	switch h := h.(type) {
	case *caddyhttp.StaticResponse:
		status, err := strconv.Atoi(h.StatusCode.String())
		return h.StatusCode == "" || err == nil && status >= 200
	case *caddyhttp.StaticError:
		return true
	case *reverseproxy.Handler:
		return len(h.HandleResponse) == 0 // forward_auth has some
	case *fileserver.FileServer:
		return !h.PassThru
	}
	return false
}

// Hosts returns the hosts of the requests that sets match. It returns nil if they match requests to all
// hosts.
func Hosts(sets caddyhttp.MatcherSets) (hosts []string) {
	for _, set := range sets {
		i := slices.IndexFunc(set, func(m any) bool { _, isHost := m.(*caddyhttp.MatchHost); return isHost })
		if i < 0 {
			return nil
		}
		hosts = append(hosts, *set[i].(*caddyhttp.MatchHost)...)
	}
	return hosts
}
