package reach

import (
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
)

// A Way has the matchers and rewrites that requests pass before they come to a handler.
type Way struct {
	Handler caddyhttp.MiddlewareHandler
	steps   []wayStep
}

// A wayStep is a step of a way: a handler that may change the path of a request, or matchers with steps
// inside.
type wayStep struct {
	rewrite  *rewrite.Rewrite      // nil if the step is matchers
	matchers caddyhttp.MatcherSets // empty if all requests match
	inside   []wayStep             // the steps of requests that match
	around   bool                  // the route is around the handler, so requests that do not match do not come to it
	group    string                // only the first matching route of a group gets a request
}

// Ways returns the ways to wanted handlers of a server on which the path of a request may change. It
// follows nested and named routes.
func Ways(server *caddyhttp.Server, wanted func(caddyhttp.MiddlewareHandler) bool) []Way {
	f := wayFinder{named: namedRoutesOf(server), wanted: wanted}
	for _, routes := range routesOf(server) {
		f.list(routes, nil)
	}
	return f.found
}

type wayFinder struct {
	named  namedRoutes
	wanted func(caddyhttp.MiddlewareHandler) bool

	found []Way
}

// list visits routes. before are the steps before them. It returns the steps within them. ends says
// that no request goes on behind them.
func (f *wayFinder) list(routes caddyhttp.RouteList, before []wayStep) (within []wayStep, ends bool) {
	for _, route := range routes {
		come := before[:len(before):len(before)]
		for _, s := range within {
			if s.group == "" || s.group != route.Group {
				come = append(come, s)
			}
		}
		if len(route.MatcherSets) > 0 {
			come = append(come, wayStep{matchers: route.MatcherSets, around: true})
		}
		inside, answered := f.handlers(route.Handlers, come)
		switch {
		case answered || route.Terminal:
			ends = ends || len(route.MatcherSets) == 0
		case len(inside) > 0:
			within = append(within, wayStep{matchers: route.MatcherSets, inside: inside, group: route.Group})
		}
	}
	return within, ends
}

// handlers visits the handlers of a route, as list does with routes.
func (f *wayFinder) handlers(handlers []caddyhttp.MiddlewareHandler, before []wayStep) (within []wayStep, ends bool) {
	for _, h := range handlers {
		come := append(before[:len(before):len(before)], within...)
		var inside []wayStep
		switch h := h.(type) {
		case *rewrite.Rewrite:
			inside = []wayStep{{rewrite: h}}
		case *caddyhttp.Subroute:
			inside, ends = f.list(h.Routes, come)
			if h.Errors != nil {
				f.list(h.Errors.Routes, come)
			}
		case *caddyhttp.Invoke:
			f.named.enter(h, func(routes caddyhttp.RouteList) { inside, ends = f.list(routes, come) })
		default:
			if f.wanted(h) && changesPath(come) {
				f.found = append(f.found, Way{h, come})
			}
			ends = answersAlways(h)
		}
		if within = append(within, inside...); ends {
			return within, true
		}
	}
	return within, false
}

// changesPath reports whether some handler in steps may change the path.
func changesPath(steps []wayStep) bool {
	for _, s := range steps {
		if s.rewrite != nil || changesPath(s.inside) {
			return true
		}
	}
	return false
}
