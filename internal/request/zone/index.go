package zone

import (
	"slices"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/reach"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/text/pathpattern"
)

// manyZones is from how many zones of a handler on an index costs a request less than to ask each
// of them.
const manyZones = 8

// An Index finds the zones of a handler that may apply to a request. The zones are asked then.
type Index struct {
	zones    []*Zone
	matching *reach.Index
	paths    bool // some zones tell paths apart, and refuse paths that no server should get
}

// NewIndex returns an index of the zones of a handler, nil if there is nothing to gain by one.
func NewIndex(zones []*Zone) *Index {
	if len(zones) < manyZones {
		return nil
	}
	lists := make([]caddyhttp.MatcherSets, len(zones))
	for i, z := range zones {
		if !z.onOriginal { // whose matchers read another path
			lists[i] = z.Matchers
		}
	}
	x := &Index{zones: zones, matching: reach.NewIndex(lists)}
	if x.matching == nil {
		return nil
	}
	x.paths = slices.ContainsFunc(zones, func(z *Zone) bool { return z.paths != pathUse{} })
	return x
}

// Append appends the zones that may apply to a request, in the order in which they decide. These
// are all zones if servers may read its host in several ways, or should not get its path.
func (x *Index) Append(zones []*Zone, r *Request) []*Zone {
	if _, differs := keytemplate.PlainHost(r.HTTP.Host); differs || r.HTTP.URL.Path == "" {
		return append(zones, x.zones...)
	}
	var path *pathpattern.Path
	if x.paths {
		var err error
		if path, err = r.path(false); err != nil {
			return append(zones, x.zones...)
		}
	}
	numbers, all := x.matching.Append(r.numbers[:0], r.HTTP, path)
	if all {
		return append(zones, x.zones...)
	}
	for _, i := range numbers {
		zones = append(zones, x.zones[i])
	}
	return zones
}
