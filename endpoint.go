package fleetlimit

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// route is the method and path pattern of an endpoint. It is immutable.
type route struct {
	methods []string            // sorted, in capitals; none means all. GET stands for GET and HEAD
	path    caddyhttp.MatchPath // the pattern, and, if it ends in a slash, the pattern without
}

// newRoute compiles a pattern. Methods are case-insensitive, pattern is one of Caddy's path matcher.
func newRoute(methods []string, pattern string) (*route, error) {
	if err := checkPath(pattern); err != nil {
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
		if m == "" || strings.ContainsFunc(m, notLetter) {
			return nil, fmt.Errorf("%q is no method: write methods like GET or POST, or none for all", m)
		}
		e.methods = append(e.methods, strings.ToUpper(m))
	}
	slices.Sort(e.methods)
	e.methods = slices.Compact(e.methods)
	if slices.Contains(e.methods, http.MethodGet) {
		e.methods = slices.DeleteFunc(e.methods, func(m string) bool { return m == http.MethodHead })
	}
	return e, nil
}

// checkPath refuses patterns that match nothing or not what they seem to.
func checkPath(pattern string) error {
	if strings.ContainsAny(pattern, "{}") {
		return fmt.Errorf("path %q has braces: use * for the parts that differ, as in /users/*/posts", pattern)
	}
	if !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "*") {
		return fmt.Errorf("path %q starts with neither / nor *: write one like /search, /users/* or *.json", pattern)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf(`path %q has a "[" or "\" that is not complete: close it with "]", or use *`, pattern)
	}
	return nil
}

// notLetter reports whether c cannot be part of a method: those in use are letters, and some have a hyphen.
func notLetter(c rune) bool {
	return (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_'
}

// match reports whether r, or bare if it is not nil, is a request to this endpoint.
func (e *route) match(r, bare *http.Request) bool {
	return e.matchMethod(r.Method) && (e.path.Match(r) || bare != nil && e.path.Match(bare))
}

// bareRequest returns r with what many servers ignore in a path removed: slashes at the end and parameters of segments, as
// in /login;v=1/. It returns nil if there is nothing to remove.
func bareRequest(r *http.Request) *http.Request {
	if p := r.URL.Path; len(p) < 2 || p[len(p)-1] != '/' && strings.IndexByte(p, ';') < 0 {
		return nil
	}
	u := *r.URL
	u.Path, u.RawPath = barePath(u.Path), barePath(u.RawPath)
	bare := r.WithContext(r.Context())
	bare.URL = &u
	return bare
}

// barePath removes parameters and slashes at the end of a path.
func barePath(p string) string {
	if strings.IndexByte(p, ';') >= 0 {
		segments := strings.Split(p, "/")
		for i := range segments {
			segments[i], _, _ = strings.Cut(segments[i], ";")
		}
		p = strings.Join(segments, "/")
	}
	if bare := strings.TrimRight(p, "/"); bare != "" {
		return bare
	}
	return p
}

// matchMethod ignores case, unlike HTTP: servers behind may too, and "post" must not be a way round the limit of POST.
func (e *route) matchMethod(method string) bool {
	for _, m := range e.methods {
		if strings.EqualFold(m, method) || m == http.MethodGet && strings.EqualFold(method, http.MethodHead) {
			return true
		}
	}
	return len(e.methods) == 0
}

// String returns the identity of the endpoint, such as "GET,POST /search/*": equal for routes that match the same requests
// and are written alike but for case and order.
func (e *route) String() string {
	if len(e.methods) == 0 {
		return e.path[0]
	}
	return strings.Join(e.methods, ",") + " " + e.path[0]
}
