package zone

import (
	"net/url"
	"slices"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/text/pathpattern"
)

// A matcherSet is a set of matchers, of which those of paths are compiled: all readings of a path are
// matched at once, and each pattern once for all zones.
type matcherSet struct {
	paths     []pathMatcher
	rest      caddyhttp.MatcherSets // the other matchers, as one set; nil if there are none
	readsPath bool                  // rest may read the path
}

// A pathMatcher matches paths that one of the patterns matches, or that none does.
type pathMatcher struct {
	patterns []pathpattern.Pattern
	not      bool
}

// splitMatchers returns a set with its matchers of paths compiled. Caddy asks the others.
func splitMatchers(set caddyhttp.MatcherSet) (split matcherSet) {
	var rest caddyhttp.MatcherSet
	for _, m := range set {
		if paths, ok := compilePaths(m); ok {
			split.paths = append(split.paths, paths)
		} else {
			rest = append(rest, m)
		}
	}
	if len(rest) > 0 {
		split.rest, split.readsPath = caddyhttp.MatcherSets{rest}, partsRead(rest)&pathPart != 0
	}
	return split
}

// compilePaths compiles a matcher, if it is one of paths alone.
func compilePaths(m any) (compiled pathMatcher, ok bool) {
	switch m := m.(type) {
	case *caddyhttp.MatchPath:
		return compiled, compiled.add(*m)
	case *caddyhttp.MatchNot:
		compiled.not = true
		for _, set := range m.MatcherSets {
			if len(set) != 1 {
				return compiled, false
			}
			if paths, is := set[0].(*caddyhttp.MatchPath); !is || !compiled.add(*paths) {
				return compiled, false
			}
		}
		return compiled, true
	}
	return compiled, false
}

// add compiles patterns, and reports whether it could.
func (m *pathMatcher) add(patterns []string) bool {
	return !slices.ContainsFunc(patterns, func(text string) bool {
		p, ok := pathpattern.Matcher(text, !m.not)
		m.patterns = append(m.patterns, p)
		return !ok
	})
}

// readings returns the readings of a path that m matches.
func (m *pathMatcher) readings(path *pathpattern.Path) (s pathpattern.ReadingSet) {
	for i := range m.patterns {
		s |= path.Matching(&m.patterns[i])
	}
	if m.not {
		return path.All() &^ s
	}
	return s
}

// matchReadings returns the readings of the path with which the matchers of z let the request through.
func (z *Zone) matchReadings(r *Request, path *pathpattern.Path) (through pathpattern.ReadingSet, err error) {
	for i := range z.matcherSets {
		set, may := &z.matcherSets[i], path.All()&^through
		for j := range set.paths {
			if may == 0 {
				break
			}
			may &= set.paths[j].readings(path)
		}
		if may != 0 && set.rest != nil {
			may, err = z.matchRest(r, set, path, may)
		}
		if through |= may; err != nil {
			return 0, err
		}
	}
	return through, nil
}

// matchRest returns those of readings with which the other matchers of a set let the request through.
func (z *Zone) matchRest(r *Request, set *matcherSet, path *pathpattern.Path, readings pathpattern.ReadingSet) (
	pathpattern.ReadingSet, error,
) {
	if !set.readsPath {
		matches, err := z.matches(r, set.rest)
		if !matches {
			readings = 0
		}
		return readings, err
	}
	// Matchers see the path of the request, also in placeholders, so that is the reading meanwhile. The
	// first comes last, as matchers set placeholders.
	defer func(u *url.URL, original url.URL) { *u = original }(r.HTTP.URL, *r.HTTP.URL)
	for i := range readings.Backward {
		path.Put(i, r.HTTP.URL)
		if matches, err := z.matches(r, set.rest); err != nil {
			return 0, err
		} else if !matches {
			readings &^= pathpattern.FirstReading << i
		}
	}
	return readings, nil
}
