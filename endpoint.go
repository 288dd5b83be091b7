package fleetlimit

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

// A route is the method and path pattern of an endpoint. It is immutable.
type route struct {
	methods []string            // sorted, in upper case; none means all. GET includes HEAD
	path    caddyhttp.MatchPath // the pattern, and the pattern without the slash at its end
}

// newRoute compiles a pattern. Methods have no case. The path is a pattern of Caddy's path matcher.
func newRoute(methods []string, pattern string) (*route, error) {
	if err := pathpattern.Check(pattern); err != nil {
		return nil, err
	}
	e := &route{path: caddyhttp.MatchPath{pattern}}
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

// doubts returns what is probably a mistake in e.
func (e *route) doubts() (doubts []error) {
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

// covers reports whether e matches all requests that other matches. It is certain when it says so.
func (e *route) covers(other *route) bool {
	if len(e.methods) > 0 && len(other.methods) == 0 {
		return false
	}
	bare := func(e *route) string { return e.path[len(e.path)-1] } // slashes at the end do not count
	return !slices.ContainsFunc(other.methods, func(m string) bool { return !e.matchMethod(m) }) &&
		pathpattern.Covers(bare(e), bare(other))
}

// errShadowed returns the error about an endpoint that never gets a request, because the earlier
// one at place covers it.
func (e *route) errShadowed(earlier *route, place string) error {
	if e.covers(earlier) {
		return fmt.Errorf("endpoint %s is already specified at %s: use it once", e, place)
	}
	return fmt.Errorf("endpoint %s gets no request, because %s at %s matches them all first: use it before that one",
		e, earlier, place)
}

// match reports whether r, or bare if it is not nil, is a request to this endpoint.
func (e *route) match(r, bare *http.Request) bool {
	return e.matchMethod(r.Method) && (e.path.Match(r) || bare != nil && e.path.Match(bare))
}

// bareRequest returns r without what many servers ignore in a path: slashes at the end, and
// parameters of segments, as in /login;v=1/. It returns nil if there is nothing to remove.
func bareRequest(r *http.Request) *http.Request {
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
func (e *route) matchMethod(method string) bool {
	if strings.EqualFold(method, http.MethodHead) && slices.Contains(e.methods, http.MethodGet) {
		return true
	}
	return len(e.methods) == 0 || slices.ContainsFunc(e.methods, func(m string) bool { return strings.EqualFold(m, method) })
}

// String returns the identity of the endpoint, such as "GET,POST /search/*". It is equal for routes
// that are equal except for case and order.
func (e *route) String() string {
	if len(e.methods) == 0 {
		return e.path[0]
	}
	return strings.Join(e.methods, ",") + " " + e.path[0]
}
