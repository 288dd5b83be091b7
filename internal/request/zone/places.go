package zone

import (
	"errors"
	"net/http"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/text/httpmethod"
	"github.com/fleetlimit/fleetlimit/internal/text/pathpattern"
)

// pathUse is whether a zone tells paths apart.
type pathUse struct {
	match     bool // by its matchers
	endpoints bool // by its endpoints
}

// usePaths finds out whether z tells paths apart, and what its matchers read. A zone in the syntax
// of caddy-ratelimit matches paths as Caddy does, and no more.
func (z *Zone) usePaths() {
	z.reads = partsRead(z.Matchers...)
	z.paths = pathUse{match: !z.Legacy && z.reads&pathPart != 0, endpoints: len(z.configured.endpoints) > 1}
	if z.paths.match {
		for _, set := range z.Matchers {
			z.matcherSets = append(z.matcherSets, splitMatchers(set))
		}
	}
	if z.onOriginal && z.paths == (pathUse{}) {
		z.Warnings = append(z.Warnings, errors.New("on_path has no effect, because the zone tells no paths apart: use it with "+
			"endpoints, or a path in match"))
	}
}

// placesOf returns the indices of the endpoints that the request is at, of which the last of the
// zone is the rest of it. There is one, or none if the zone does not apply. If servers may read the
// path in several ways, there is one for each endpoint that a reading matches. They are valid until
// the next call. It refuses the request if no server should get the path.
func (z *Zone) placesOf(r *Request, rules *zoneRules, found *Reading) ([]int, error) {
	places := r.places[:0]
	if z.paths == (pathUse{}) {
		matches, err := z.matches(r, z.Matchers)
		if matches {
			places = append(places, len(rules.endpoints)-1)
		}
		return places, err
	}
	path, err := r.path(z.onOriginal)
	if err != nil {
		found.Refusal = ambiguousPath(err)
		found.Ambiguous++
		return nil, nil
	}
	readings := path.All()
	if z.paths.match {
		readings, err = z.matchReadings(r, path)
	} else if matches, failed := z.matches(r, z.Matchers); !matches {
		readings, err = 0, failed
	}
	if err != nil || readings == 0 {
		return nil, err
	}
	places, rest := rules.appendEndpoints(places, httpmethod.Of(r.HTTP), path, readings)
	if httpmethod.OpensWebSocket(r.HTTP) { // it may also be at an endpoint of CONNECT
		places, _ = rules.appendEndpoints(places, http.MethodConnect, path, readings)
	}
	if rest != 0 {
		places = append(places, len(rules.endpoints)-1)
	}
	return places, nil
}

// appendEndpoints appends the index of the first endpoint that matches a method and a reading of
// the path, for each of readings. rest are those that none matches.
func (c *zoneRules) appendEndpoints(places []int, method string, path *pathpattern.Path, readings pathpattern.ReadingSet) (
	_ []int, rest pathpattern.ReadingSet,
) {
	rest = readings
	for i := 0; i < len(c.endpoints)-1 && rest != 0; i++ {
		if matching := rest & c.endpoints[i].route.Match(method, path); matching != 0 {
			rest &^= matching
			if !slices.Contains(places, i) {
				places = append(places, i)
			}
		}
	}
	return places, rest
}

// PathOf returns the path of a request that z matches, "" if it tells no paths apart.
func (z *Zone) PathOf(r *Request) string {
	switch {
	case z.paths == (pathUse{}):
		return ""
	case z.onOriginal:
		return r.sentURL().Path
	}
	return r.HTTP.URL.Path
}

// placeOf returns the index of the endpoint at which Caddy reads the request to be.
func (z *Zone) placeOf(r *Request, rules *zoneRules) int {
	if path, err := r.path(z.onOriginal); err == nil {
		if at, rest := rules.appendEndpoints(nil, httpmethod.Of(r.HTTP), path, pathpattern.FirstReading); rest == 0 {
			return at[0]
		}
	}
	return len(rules.endpoints) - 1
}
