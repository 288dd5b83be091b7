// Package route matches requests with a method and a path, as an endpoint of a zone has them. It
// ignores more than Caddy's path matcher does, because servers do.
package route

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/httpmethod"
	"github.com/fleetlimit/fleetlimit/internal/pathpattern"
)

// A Route is the methods and the path pattern of an endpoint. It is immutable.
type Route struct {
	methods []string            // sorted, in upper case; none means all. GET includes HEAD
	path    caddyhttp.MatchPath // the pattern, and the pattern without the slash at its end
}

// New compiles a pattern. Methods have no case. The path is a pattern of Caddy's path matcher.
func New(methods []string, pattern string) (*Route, error) {
	if err := pathpattern.Check(pattern); err != nil {
		return nil, err
	}
	e := &Route{path: caddyhttp.MatchPath{pattern}}
	if bare := strings.TrimRight(pattern, "/"); bare != pattern && bare != "" && !strings.HasSuffix(bare, "*") {
		e.path = append(e.path, bare)
	}
	if err := e.path.Provision(caddy.Context{}); err != nil {
		return nil, fmt.Errorf("path %q: %w", pattern, err)
	}
	for _, m := range methods {
		m = strings.ToUpper(m)
		if _, err := httpmethod.Check(m); err != nil {
			return nil, err
		}
		e.methods = append(e.methods, m)
	}
	slices.Sort(e.methods)
	e.methods = slices.Compact(e.methods)
	if slices.Contains(e.methods, http.MethodGet) {
		e.methods = slices.DeleteFunc(e.methods, func(m string) bool { return m == http.MethodHead })
	}
	return e, nil
}

// Doubts returns what is probably a mistake in e.
func (e *Route) Doubts() (doubts []error) {
	if doubt := pathpattern.Doubtful(e.path[0]); doubt != "" {
		doubts = append(doubts, errors.New(doubt))
	}
	for _, m := range e.methods {
		if doubt, _ := httpmethod.Check(m); doubt != "" {
			doubts = append(doubts, errors.New(doubt))
		}
	}
	return doubts
}

// Covers reports whether e matches all requests that other matches. It is certain when it says so.
func (e *Route) Covers(other *Route) bool {
	if len(e.methods) > 0 && len(other.methods) == 0 {
		return false
	}
	bare := func(e *Route) string { return e.path[len(e.path)-1] } // slashes at the end do not count
	return !slices.ContainsFunc(other.methods, func(m string) bool { return !e.matchMethod(m) }) &&
		pathpattern.Covers(bare(e), bare(other))
}

// MatchesAll reports whether e matches every request.
func (e *Route) MatchesAll() bool {
	return len(e.methods) == 0 && (e.path[0] == "*" || e.path[0] == "/*")
}

// Within reports whether requests to e may have a path that one of patterns, in lower case,
// matches. It is certain when it says no.
func (e *Route) Within(patterns []string) bool {
	bare := e.path[len(e.path)-1] // slashes at the end do not count
	return slices.ContainsFunc(patterns, func(p string) bool { return !pathpattern.Disjoint(p, bare) })
}

// Under reports whether every path that the route matches begins with prefix and a slash.
func (e *Route) Under(prefix string) bool {
	return pathpattern.Covers(strings.TrimRight(prefix, "/")+"/*", e.path[0])
}

// ShadowedBy returns the error about an endpoint that never gets a request, because the earlier
// one at place covers it.
func (e *Route) ShadowedBy(earlier *Route, place string) error {
	if e.Covers(earlier) {
		return fmt.Errorf("endpoint %s is already specified at %s: use it once", e, place)
	}
	return fmt.Errorf("endpoint %s gets no request, because %s at %s matches them all first: use it before that one",
		e, earlier, place)
}

// Match reports whether r, or bare if it is not nil, is a request to this endpoint.
func (e *Route) Match(r, bare *http.Request) bool {
	return e.matchMethod(r.Method) && (e.path.Match(r) || bare != nil && e.path.Match(bare))
}

// Bare returns r without what many servers ignore in a path: slashes at the end, and
// parameters of segments, as in /login;v=1/. It returns nil if there is nothing to remove.
func Bare(r *http.Request) *http.Request {
	if p := r.URL.Path; len(p) < 2 || p[len(p)-1] != '/' && !strings.Contains(p, ";") {
		return nil
	}
	u := *r.URL
	u.Path, u.RawPath = barePath(u.Path), barePath(u.RawPath)
	bare := r.WithContext(r.Context())
	bare.URL = &u
	return bare
}

// barePath removes parameters and the slashes at the end of a path.
func barePath(p string) string {
	segments := strings.Split(p, "/")
	for i := range segments {
		segments[i], _, _ = strings.Cut(segments[i], ";")
	}
	p = strings.Join(segments, "/")
	if bare := strings.TrimRight(p, "/"); bare != "" {
		return bare
	}
	return p
}

// matchMethod ignores case, because upstreams may do so too: "post" must not avoid the limit of
// POST.
func (e *Route) matchMethod(method string) bool {
	if strings.EqualFold(method, http.MethodHead) && slices.Contains(e.methods, http.MethodGet) {
		return true
	}
	return len(e.methods) == 0 || slices.ContainsFunc(e.methods, func(m string) bool { return strings.EqualFold(m, method) })
}

// String returns the identity of the endpoint, such as "GET,POST /search/*". It is equal for routes
// that are equal except for case and order.
func (e *Route) String() string {
	if len(e.methods) == 0 {
		return e.path[0]
	}
	return strings.Join(e.methods, ",") + " " + e.path[0]
}
