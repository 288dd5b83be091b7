package reach

import (
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A Trace is the way of a request through the routes of a server.
type Trace struct {
	// By is the handler that answers the request, or fails. It is nil if none does.
	By caddyhttp.MiddlewareHandler

	// Failed is an error that no route handles. It is nil if there is none.
	Failed error

	// Unknown are the handlers on the way that Send does not run. They may answer or change the
	// request. The trace goes on as if they passed the request on unchanged.
	Unknown []caddyhttp.MiddlewareHandler

	// Missed are the wanted handlers that the request does not reach, in the order of the routes.
	Missed []Miss
}

// A Miss says why a request does not reach a handler. One of the fields gives the reason. None does if
// the routes end before the handler.
type Miss struct {
	Handler caddyhttp.MiddlewareHandler

	// Matchers are the matchers of a route around the handler. The request does not match them.
	Matchers caddyhttp.MatcherSets

	// Grouped says that the route around the handler is in a group, and that an earlier route of that
	// group gets the request, as with `handle`.
	Grouped bool

	// OfErrors says that the handler is in error routes, and that no error occurs.
	OfErrors bool

	// By is the handler at which the request ends before it reaches Handler.
	By caddyhttp.MiddlewareHandler
}

// A Visitor is told where a request comes to.
type Visitor interface {
	// Wants reports whether h is a wanted handler.
	Wants(h caddyhttp.MiddlewareHandler) bool

	// Visit does what the wanted handler h does: it calls next if h passes the request on.
	Visit(h caddyhttp.MiddlewareHandler, w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error

	// Pass is told that the request goes on behind a handler of Trace.Unknown.
	Pass(r *http.Request)
}

// Send sends a request through the routes of a server, which must be provisioned. The request must come
// from [caddyhttp.PrepareRequest]. Caddy's own code leads it: matchers, groups, nested routes and error
// routes act as for requests of clients. Of the handlers, only those run that need nothing but the
// request: fixed answers, and handlers that change what the request says, such as rewrite and vars.
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

// end is the handler behind all routes.
func end(http.ResponseWriter, *http.Request) error { return nil }

// restore makes the request what it was when it came, as Caddy does before error routes.
func restore(r *http.Request) {
	original, known := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request)
	if !known {
		return
	}
	r.Method, r.RemoteAddr, r.RequestURI = original.Method, original.RemoteAddr, original.RequestURI
	*r.URL = *original.URL
}

// addMissed sets trace.Missed, with the reason for each wanted handler that the request has missed.
func (s *sender) addMissed(r *http.Request) {
	known := make(map[caddyhttp.MiddlewareHandler]bool)
	for _, at := range s.stops {
		known[at.handler] = known[at.handler] || at.reached
	}
	for _, at := range s.stops {
		if !known[at.handler] {
			known[at.handler] = true // a named route may have the handler in several places
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
