package reach

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A Trace is the way of a request through the routes of a server.
type Trace struct {
	// By is the handler that answers the request, or fails. nil: none does.
	By caddyhttp.MiddlewareHandler

	// Failed is the error that no route handles.
	Failed error

	// Unknown are the handlers on the way that may answer the request, or change it, and do not run.
	// The way goes on as if they passed it on as it is.
	Unknown []caddyhttp.MiddlewareHandler

	// Missed are the wanted handlers that the request does not come to, in the order of the routes.
	Missed []Miss
}

// A Miss is why a request does not come to a handler. It has exactly one reason, or none if the
// routes end before the handler.
type Miss struct {
	Handler caddyhttp.MiddlewareHandler

	// Matchers are those of a route around the handler that the request does not match.
	Matchers caddyhttp.MatcherSets

	// Grouped says that only the first matching route of a group gets the request, as with `handle`,
	// and that the route around the handler is not the first.
	Grouped bool

	// OfErrors says that the handler is in error routes, and that there is no error.
	OfErrors bool

	// By is what ends the way before the handler.
	By caddyhttp.MiddlewareHandler
}

// A Visitor is told where a request comes.
type Visitor interface {
	// Wants reports whether h is one of the handlers that are looked for.
	Wants(h caddyhttp.MiddlewareHandler) bool

	// Visit does what a wanted handler does: it calls next if h passes the request on.
	Visit(h caddyhttp.MiddlewareHandler, w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error

	// Pass is told that the request goes on after a handler of Trace.Unknown.
	Pass(r *http.Request)
}

// Send sends a request, as [caddyhttp.PrepareRequest] returns it, through the routes of a server,
// which are provisioned. Caddy itself leads it: matchers, groups, nested routes and error routes do
// what they do for requests of clients. Of the handlers, only those run that need nothing but the
// request: those that change what it says, such as rewrite and vars, and fixed answers.
func Send(server *caddyhttp.Server, w http.ResponseWriter, r *http.Request, v Visitor) (*Trace, error) {
	s := sender{visitor: v, named: namedRoutesOf(server)}
	routes, err := s.routes(server.Routes, around{})
	if err != nil {
		return nil, err
	}
	var ofErrors caddyhttp.RouteList
	if server.Errors != nil {
		if ofErrors, err = s.routes(server.Errors.Routes, around{ofErrors: true}); err != nil {
			return nil, err
		}
	}
	failed := routes.Compile(caddyhttp.HandlerFunc(end)).ServeHTTP(w, r)
	if failed != nil && len(ofErrors) > 0 {
		restore(r)
		failing := s.trace.By
		s.trace.By = nil
		r = server.Errors.WithError(r, failed)
		err := ofErrors.Compile(caddyhttp.HandlerFunc(end)).ServeHTTP(w, r)
		if s.trace.By == nil {
			s.trace.By = failing
		} else if err == nil {
			failed = nil
		}
	}
	s.trace.Failed = failed
	s.addMissed(r)
	return &s.trace, nil
}

// end is the end of all routes.
func end(http.ResponseWriter, *http.Request) error { return nil }

// restore makes the request what it was when it came, as Caddy does for error routes.
func restore(r *http.Request) {
	original, known := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request)
	if !known {
		return
	}
	r.Method, r.RemoteAddr, r.RequestURI = original.Method, original.RemoteAddr, original.RequestURI
	*r.URL = *original.URL
}

// addMissed finds out why the request did not come to the wanted handlers that it missed.
func (s *sender) addMissed(r *http.Request) {
	known := make(map[caddyhttp.MiddlewareHandler]bool)
	for _, at := range s.stops {
		known[at.handler] = known[at.handler] || at.reached
	}
	for _, at := range s.stops {
		if !known[at.handler] {
			known[at.handler] = true // a named route may have it several times
			s.trace.Missed = append(s.trace.Missed, s.miss(at, r))
		}
	}
}

func (s *sender) miss(at *stop, r *http.Request) Miss {
	m := Miss{Handler: at.handler}
	came := true
	for _, p := range at.around.routes {
		if p.entered {
			continue
		}
		if matches, err := p.route.MatcherSets.AnyMatchWithError(r); err == nil && !matches {
			m.Matchers = p.route.MatcherSets
			return m
		}
		if came = came && p.came; came {
			m.Grouped = true
			return m
		}
	}
	switch {
	case at.around.ofErrors && !at.around.began():
		m.OfErrors = true
	default:
		m.By = s.first
	}
	return m
}
