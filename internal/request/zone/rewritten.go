package zone

import (
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/text/pathpattern"
	"github.com/fleetlimit/fleetlimit/internal/text/route"
)

// A Rewrite says what the handlers before a zone may make of a path that a client sends, as
// reach.Way does: paths, and the directive that has made each.
type Rewrite func(method string, sent *url.URL) (paths []*url.URL, by []string)

// A LostPath is a path that an endpoint or the match of a zone names, and does not match, because a
// handler before the zone has made another one of it.
type LostPath struct {
	Named    string // such as "endpoint POST /login"
	Sent, Is string
	By       string // the directive
}

// LostPaths returns a path that is lost so for each directive before z. words are texts that decide
// about paths there.
func (z *Zone) LostPaths(rewrite Rewrite, words []string) (lost []LostPath) {
	if z.onOriginal || z.paths == (pathUse{}) {
		return nil
	}
	known := make(map[string]bool)
	look := func(named string, r *route.Route, pattern string) {
		if r.MatchesAll() {
			return
		}
		for _, sent := range pathpattern.Samples(pattern, words) {
			paths, by := rewrite(r.Method(), sent)
			for i, path := range paths {
				if known[by[i]] || by[i] == "" || matchesPath(r, path) {
					continue
				}
				known[by[i]] = true
				lost = append(lost, LostPath{named, sent.Path, path.Path, by[i]})
			}
		}
	}
	for _, r := range z.Routes() {
		look("endpoint "+r.String(), r, r.Pattern())
	}
	for _, set := range z.Matchers {
		for _, pattern := range pathsNamed(nil, set) {
			if r, err := route.New(nil, pattern); err == nil {
				look("match path "+pattern, r, pattern)
			}
		}
	}
	return lost
}

// matchesPath reports whether a route matches a path.
func matchesPath(r *route.Route, u *url.URL) bool {
	path, err := new(pathpattern.Path).Read(u, nil)
	return err == nil && r.Match(r.Method(), path) != 0
}

// pathsNamed appends the patterns of paths in a set of matchers, also in negations.
func pathsNamed(patterns []string, set caddyhttp.MatcherSet) []string {
	for _, m := range set {
		switch m := m.(type) {
		case *caddyhttp.MatchPath:
			for _, p := range *m {
				if !strings.Contains(p, "{") {
					patterns = append(patterns, p)
				}
			}
		case *caddyhttp.MatchNot:
			for _, set := range m.MatcherSets {
				patterns = pathsNamed(patterns, set)
			}
		}
	}
	return patterns
}
