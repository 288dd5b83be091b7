package zone

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/text/pathpattern"
	"github.com/fleetlimit/fleetlimit/internal/text/route"
)

// MatchWarnings returns what is probably a mistake in the matchers of z: what never matches, and
// endpoints whose requests they do not let through.
func (z *Zone) MatchWarnings() (warnings []error) {
	for _, set := range z.Matchers {
		if len(set) == 0 {
			warnings = append(warnings, fmt.Errorf("match has an empty set, which matches all requests: use matchers in it, or "+
				"no match"))
		}
		for _, m := range set {
			switch m := m.(type) {
			case *caddyhttp.MatchPath:
				warnings = append(warnings, pathWarnings(*m)...)
			case *caddyhttp.MatchHost:
				warnings = append(warnings, hostWarnings(*m)...)
			}
		}
	}
	for _, e := range z.configured.endpoints {
		if e.route != nil && len(z.Matchers) > 0 && !z.mayReach(e.route) {
			warnings = append(warnings, fmt.Errorf("endpoint %s gets no request, because the zone's match lets none of its path "+
				"through: use a wider match, or another zone", e.route))
		}
	}
	return warnings
}

// pathWarnings leaves out patterns with placeholders.
func pathWarnings(patterns []string) (warnings []error) {
	for _, p := range patterns {
		if err := pathpattern.Check(p); err != nil && !strings.Contains(p, "{") {
			warnings = append(warnings, fmt.Errorf("match: %w", err))
		}
	}
	return warnings
}

// hostWarnings is about hosts that no request has, because Caddy compares hosts without their port.
func hostWarnings(hosts []string) (warnings []error) {
	for _, host := range hosts {
		bare := host
		if _, rest, found := strings.Cut(host, "://"); found {
			bare, _, _ = strings.Cut(rest, "/")
		}
		if h, _, err := net.SplitHostPort(bare); err == nil {
			bare = h
		}
		if bare != host && !strings.Contains(host, "{") {
			warnings = append(warnings, fmt.Errorf("match: host %q matches no request, because hosts have neither a scheme nor a "+
				"port: use %s", host, bare))
		}
	}
	return warnings
}

// mayReach reports whether the matchers of z may let requests to e through.
func (z *Zone) mayReach(e *route.Route) bool {
	return slices.ContainsFunc(z.Matchers, func(set caddyhttp.MatcherSet) bool { return mayMatch(e, set) })
}

// mayMatch reports whether requests to e may match set. It is certain when it says no.
func mayMatch(e *route.Route, set caddyhttp.MatcherSet) bool {
	return !slices.ContainsFunc(set, func(m any) bool {
		paths, ok := m.(*caddyhttp.MatchPath)
		return ok && !e.Within(*paths)
	})
}
