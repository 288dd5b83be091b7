package reach

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"
	maphandler "github.com/caddyserver/caddy/v2/modules/caddyhttp/map"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
)

// A sender copies the routes of a server. The copies lead a request in the same way, but most of their
// handlers do not run.
type sender struct {
	visitor Visitor
	named   namedRoutes

	trace Trace
	first caddyhttp.MiddlewareHandler // the first handler at which the request ended
	stops []*stop
}

// A stop is a place in the routes that has a wanted handler.
type stop struct {
	handler caddyhttp.MiddlewareHandler
	around  around
	reached bool
}

// An around has the routes around a handler.
type around struct {
	routes   []*passage // the outermost first
	ofErrors bool       // they are error routes
}

// began reports whether the request has come to the innermost of the routes.
func (a around) began() bool { return len(a.routes) > 0 && a.routes[len(a.routes)-1].came }

// A passage is a route, and how far the request has come into it.
type passage struct {
	route         *caddyhttp.Route
	came, entered bool // came: it has come to the route; entered: it has passed the matchers
}

// A step is a handler in the routes that a sender makes.
type step struct {
	do func(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error
}

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (s step) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return s.do(w, r, next)
}

// routes returns copies of routes that lead a request in the same way. In front of each copy is a route
// that notes that the request comes there.
func (s *sender) routes(routes caddyhttp.RouteList, outside around) (caddyhttp.RouteList, error) {
	var all caddyhttp.RouteList
	for i := range routes {
		p := &passage{route: &routes[i]}
		inside := around{append(outside.routes[:len(outside.routes):len(outside.routes)], p), outside.ofErrors}
		route := caddyhttp.Route{
			Group: routes[i].Group, MatcherSets: routes[i].MatcherSets, Terminal: routes[i].Terminal,
			Handlers: []caddyhttp.MiddlewareHandler{noting(&p.entered)},
		}
		for _, h := range routes[i].Handlers {
			made, err := s.handler(h, inside)
			if err != nil {
				return nil, err
			}
			route.Handlers = append(route.Handlers, made)
		}
		all = append(all, caddyhttp.Route{Handlers: []caddyhttp.MiddlewareHandler{noting(&p.came)}}, route)
	}
	return all, all.ProvisionHandlers(caddy.Context{}, nil) // the handlers are made, so this loads no module
}

// noting returns a step that sets came and passes the request on.
func noting(came *bool) step {
	return step{func(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
		*came = true
		return next.ServeHTTP(w, r)
	}}
}

// passing is a step that only passes the request on.
var passing = step{func(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return next.ServeHTTP(w, r)
}}

// handler returns the handler that stands for h in the copied routes.
func (s *sender) handler(h caddyhttp.MiddlewareHandler, in around) (caddyhttp.MiddlewareHandler, error) {
	switch h := h.(type) {
	case *caddyhttp.Subroute:
		return s.subroute(h, in)
	case *caddyhttp.Invoke:
		return s.invoke(h, in)
	case *rewrite.Rewrite, *caddyhttp.VarsMiddleware, *headers.Handler, *maphandler.Handler, *caddyhttp.StaticError:
		return s.ending(h, h), nil
	}
	switch {
	case writesText(h):
		return s.ending(h, h), nil
	case s.visitor.Wants(h):
		at := &stop{handler: h, around: in}
		s.stops = append(s.stops, at)
		return s.ending(h, step{func(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
			at.reached = true
			return s.visitor.Visit(h, w, r, next)
		}}), nil
	case answersAlways(h):
		return s.ending(h, step{func(http.ResponseWriter, *http.Request, caddyhttp.Handler) error { return nil }}), nil
	case changesResponse(h):
		return passing, nil
	}
	return step{func(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
		s.trace.Unknown = append(s.trace.Unknown, h)
		s.visitor.Pass(r)
		return next.ServeHTTP(w, r)
	}}, nil
}

// ending returns a step that runs do. If do does not call the next handler, the step notes that the
// request has ended in h.
func (s *sender) ending(h, do caddyhttp.MiddlewareHandler) step {
	return step{func(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
		passed := false
		err := do.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			passed = true
			return next.ServeHTTP(w, r)
		}))
		if passed {
			return err
		}
		s.trace.By = h
		if s.first == nil {
			s.first = h
		}
		return err
	}}
}

func (s *sender) subroute(h *caddyhttp.Subroute, in around) (*caddyhttp.Subroute, error) {
	routes, err := s.routes(h.Routes, in)
	if err != nil || h.Errors == nil {
		return &caddyhttp.Subroute{Routes: routes}, err
	}
	ofErrors, err := s.routes(h.Errors.Routes, around{in.routes, true})
	return &caddyhttp.Subroute{Routes: routes, Errors: &caddyhttp.HTTPErrorConfig{Routes: ofErrors}}, err
}

// invoke returns the named route that h invokes. If a route invokes itself, invoke returns passing.
func (s *sender) invoke(h *caddyhttp.Invoke, in around) (made caddyhttp.MiddlewareHandler, err error) {
	made = passing
	s.named.enter(h, func(named caddyhttp.RouteList) {
		var routes caddyhttp.RouteList
		routes, err = s.routes(named, in)
		made = &caddyhttp.Subroute{Routes: routes}
	})
	return made, err
}

// writesText reports whether a handler writes a fixed text as its answer, or only sends early hints.
func writesText(h caddyhttp.MiddlewareHandler) bool {
	static, is := h.(*caddyhttp.StaticResponse)
	return is && !static.Abort
}

// changesResponse reports whether a handler of Caddy passes each request on, with all that zones read
// in it unchanged.
func changesResponse(h caddyhttp.MiddlewareHandler) bool {
	module, is := h.(caddy.Module)
	if !is {
		return false
	}
	switch module.CaddyModule().ID.Name() {
	case "copy_response_headers", "encode", "intercept", "log_append", "push", "request_body", "templates", "timeouts", "tracing":
		return true
	}
	return false
}
