// Package route matches requests against the method and path of an endpoint. It ignores more in a path
// than Caddy's path matcher does, because servers ignore it too.
package route

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/text/httpmethod"
	"github.com/fleetlimit/fleetlimit/internal/text/pathpattern"
)

// A Route is the methods and the path pattern of an endpoint. It is immutable.
type Route struct {
	methods []string // sorted, in upper case; empty if all methods match. GET includes HEAD

	pattern, bare string                // in lower case; bare has no slash at its end, unless it is a slash
	compiled      []pathpattern.Pattern // of pattern, and of bare if it differs
}

// New compiles a route. The case of methods does not matter. The path is a pattern of Caddy's path
// matcher.
func New(methods []string, pattern string) (*Route, error) {
	if err := pathpattern.Check(pattern); err != nil {
		return nil, err
	}
	pattern = strings.ToLower(pattern)
	e := &Route{pattern: pattern, bare: pattern, compiled: []pathpattern.Pattern{pathpattern.Compile(pattern)}}
	if bare := strings.TrimRight(pattern, "/"); bare != pattern && bare != "" && !strings.HasSuffix(bare, "*") {
		e.bare = bare
		e.compiled = append(e.compiled, pathpattern.Compile(bare))
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

// Warnings returns a text for each probable mistake in e.
func (e *Route) Warnings() (warnings []error) {
	if warning := pathpattern.Warning(e.pattern); warning != "" {
		warnings = append(warnings, errors.New(warning))
	}
	for _, m := range e.methods {
		if warning, _ := httpmethod.Check(m); warning != "" {
			warnings = append(warnings, errors.New(warning))
		}
	}
	return warnings
}

// Covers reports whether e matches all requests that other matches. True is certain, and false may be a
// mistake.
func (e *Route) Covers(other *Route) bool {
	if len(e.methods) > 0 && len(other.methods) == 0 {
		return false
	}
	return !slices.ContainsFunc(other.methods, func(m string) bool { return !e.matchMethod(m) }) &&
		pathpattern.Covers(e.bare, other.bare)
}

// MatchesAll reports whether e matches every request.
func (e *Route) MatchesAll() bool {
	return len(e.methods) == 0 && (e.pattern == "*" || e.pattern == "/*")
}

// Within reports whether some request to e may have a path that one of patterns matches. The patterns
// are in lower case. False is certain, and true may be a mistake.
func (e *Route) Within(patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return !pathpattern.Disjoint(p, e.bare) })
}

// Pattern returns the path pattern of e, in lower case.
func (e *Route) Pattern() string { return e.pattern }

// Method returns a method that e matches.
func (e *Route) Method() string {
	if len(e.methods) == 0 {
		return http.MethodGet
	}
	return e.methods[0]
}

// ShadowedBy returns the error about an endpoint that never gets a request, because an earlier endpoint
// covers it. place is where the earlier one is.
func (e *Route) ShadowedBy(earlier *Route, place string) error {
	if e.Covers(earlier) {
		return fmt.Errorf("endpoint %s is already specified at %s: use it once", e, place)
	}
	return fmt.Errorf("endpoint %s gets no request, because %s at %s matches them all first: use it before that one",
		e, earlier, place)
}

// Match returns the readings of path that e matches in a request with this method.
func (e *Route) Match(method string, path *pathpattern.Path) (s pathpattern.ReadingSet) {
	if e.matchMethod(method) {
		for i := range e.compiled {
			s |= path.Matching(&e.compiled[i])
		}
	}
	return s
}

// matchMethod reports whether e matches a method. It ignores case, because upstreams may do so: "post"
// must not avoid the limit of POST.
func (e *Route) matchMethod(method string) bool {
	if strings.EqualFold(method, http.MethodHead) && slices.Contains(e.methods, http.MethodGet) {
		return true
	}
	return len(e.methods) == 0 || slices.ContainsFunc(e.methods, func(m string) bool { return strings.EqualFold(m, method) })
}

// String returns the name of the endpoint, such as "GET,POST /search/*". Routes that differ only in
// case and in the order of methods have one name.
func (e *Route) String() string {
	if len(e.methods) == 0 {
		return e.pattern
	}
	return strings.Join(e.methods, ",") + " " + e.pattern
}
