// Package reach reads Caddy's routes and matchers. It finds out which handlers requests come to, by the
// routes around them: [Find], which are reached by no request or not by all, and [Send], which one
// request reaches. An [Index] finds which of many lists of matchers may match a request.
package reach

import (
	"slices"
	"strconv"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

// A Gap is requests that do not reach a handler.
type Gap struct {
	Handler caddyhttp.MiddlewareHandler

	// By is the handler that answers them.
	By caddyhttp.MiddlewareHandler

	// Requests are the matchers of those requests. Empty: no request at all reaches the handler.
	Requests caddyhttp.MatcherSets
}

// Find returns the gaps of wanted handlers in routes, which are provisioned. named are the named
// routes of the server.
//
// That no request reaches a handler is certain. That some requests do not is said only of a handler
// in nested routes for all requests, after others for some: `route` after `handle` is so, which
// Caddy puts in this order. In one list, somebody has written the order.
func Find(routes caddyhttp.RouteList, named map[string]*caddyhttp.Route, wanted func(caddyhttp.MiddlewareHandler) bool) []Gap {
	w := walk{
		named: named, wanted: wanted, invoked: make(map[string]bool), reached: make(map[caddyhttp.MiddlewareHandler]bool),
	}
	w.list(routes, nil, nil)
	var gaps []Gap
	for _, g := range w.gaps {
		if len(g.Requests) > 0 || !w.reached[g.Handler] {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

// A walk visits routes in the order in which requests pass them.
type walk struct {
	named   map[string]*caddyhttp.Route
	wanted  func(caddyhttp.MiddlewareHandler) bool
	invoked map[string]bool // named routes that are being visited

	gaps    []Gap
	seen    int                                  // how many wanted handlers were visited
	reached map[caddyhttp.MiddlewareHandler]bool // by some requests: a named route may be invoked twice
}

// list visits routes. by has answered all requests before them; it is nil if nothing has. outer are gaps of
// the routes around these, for handlers that are for all requests. It returns what has answered all
// requests after them.
func (w *walk) list(routes caddyhttp.RouteList, by caddyhttp.MiddlewareHandler, outer []Gap) caddyhttp.MiddlewareHandler {
	some := outer
	passes := make(map[string]bool) // groups with a route that lets requests on
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

// handlers visits the handlers of a route, as list does. here are gaps of the handlers themselves,
// nested those of the routes in them.
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

// isNested reports whether a route is one for nested routes, as `handle` makes it.
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

// nested visits the routes in a handler. It returns what answers all requests that come to it.
func (w *walk) nested(h, by caddyhttp.MiddlewareHandler, some []Gap) caddyhttp.MiddlewareHandler {
	switch h := h.(type) {
	case *caddyhttp.Subroute:
		answer := w.list(h.Routes, by, some)
		if h.Errors == nil {
			return answer
		}
		w.list(h.Errors.Routes, by, nil)
		return by // after an error, its routes may let requests on
	case *caddyhttp.Invoke:
		route := w.named[h.Name]
		if route == nil || w.invoked[h.Name] {
			return by
		}
		w.invoked[h.Name] = true
		defer delete(w.invoked, h.Name)
		return w.list(caddyhttp.RouteList{*route}, by, some)
	}
	if by == nil && answersAlways(h) {
		return h
	}
	return by
}

// answersAlways reports whether a handler never calls the next one. It knows those of Caddy.
func answersAlways(h caddyhttp.MiddlewareHandler) bool {
	switch h := h.(type) {
	case *caddyhttp.StaticResponse:
		status, err := strconv.Atoi(h.StatusCode.String())
		return h.StatusCode == "" || err == nil && status >= 200
	case *caddyhttp.StaticError:
		return true
	case *reverseproxy.Handler:
		return len(h.HandleResponse) == 0 // as forward_auth has
	case *fileserver.FileServer:
		return !h.PassThru
	}
	return false
}

// Hosts returns the hosts that matchers let through, none if those are all.
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
