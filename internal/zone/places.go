package zone

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/httpmethod"
	"github.com/fleetlimit/fleetlimit/internal/pathreading"
)

// pathUse is whether a zone tells paths apart.
type pathUse struct {
	match     bool // by its matchers
	endpoints bool // by its endpoints
}

// usePaths finds out whether z tells paths apart, or queries or headers. A zone in the syntax of
// caddy-ratelimit matches paths as Caddy does, and no more.
func (z *Zone) usePaths() {
	z.paths = pathUse{
		match:     !z.Legacy && slices.ContainsFunc(z.matchers, readsPath),
		endpoints: len(z.configured.endpoints) > 1,
	}
	z.queries = slices.ContainsFunc(z.matchers, readsQuery)
	z.headers = slices.ContainsFunc(z.matchers, readsHeader)
}

// readsPath reports whether what a set of matchers decides may depend on the path. Of matchers that
// it does not know it does.
func readsPath(set caddyhttp.MatcherSet) bool {
	return slices.ContainsFunc(set, func(m any) bool {
		switch m := m.(type) {
		case *caddyhttp.MatchHost, *caddyhttp.MatchMethod, *caddyhttp.MatchHeader, *caddyhttp.MatchHeaderRE, *caddyhttp.MatchQuery,
			*caddyhttp.MatchProtocol, *caddyhttp.MatchTLS, *caddyhttp.MatchRemoteIP, *caddyhttp.MatchClientIP:
			return false
		case *caddyhttp.MatchNot:
			return slices.ContainsFunc(m.MatcherSets, readsPath)
		}
		return true
	})
}

// placesOf returns the indices of the endpoints that the request is at, of which the last of the
// zone is the rest of it. There is one, or none if the zone does not apply. If servers may read the
// path in several ways, there is one for each endpoint that a reading matches. They are valid until
// the next call. It refuses the request if no server should get the path.
func (z *Zone) placesOf(r *Request, rules *zoneRules, found *Reading) ([]int, error) {
	places := r.places[:0]
	if z.paths == (pathUse{}) {
		matches, err := z.matches(r)
		if matches {
			places = append(places, len(rules.endpoints)-1)
		}
		return places, err
	}
	path, err := r.readings()
	if err != nil {
		found.Refusal = ambiguousPath(err)
		found.Ambiguous++
		return nil, nil
	}
	readings, method := path.Readings(), httpmethod.Of(r.HTTP)
	for i := range slices.Backward(readings) { // the request as it is comes last, as matchers set placeholders
		if z.paths.match || i == len(readings)-1 {
			matches, err := z.matchReading(r, path, i)
			if err != nil || !matches && !z.paths.match {
				return nil, err
			}
			if !matches {
				continue
			}
		}
		if place := rules.endpointFor(method, &readings[i]); !slices.Contains(places, place) {
			places = append(places, place)
		}
		if httpmethod.OpensWebSocket(r.HTTP) { // it may also be at an endpoint of CONNECT
			place := rules.endpointFor(http.MethodConnect, &readings[i])
			if place < len(rules.endpoints)-1 && !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	return places, nil
}

// matchReading reports whether the matchers of z let the request through with a reading of its path.
// The first is how Caddy reads it. Matchers see the path of the request, also in placeholders, so
// that is the reading meanwhile.
func (z *Zone) matchReading(r *Request, path *pathreading.Path, i int) (bool, error) {
	if i > 0 {
		u := r.HTTP.URL
		defer func(original url.URL) { *u = original }(*u)
		path.Put(&path.Readings()[i], u)
	}
	return z.matches(r)
}
