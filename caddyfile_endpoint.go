package fleetlimit

import (
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/subdirective"
	"github.com/fleetlimit/fleetlimit/limiter"
)

const endpointUsage = "endpoint [<METHOD>[,<METHOD>...]] <path> [<rate> [<algorithm>]]"

// endpoint parses an endpoint. Its rate and algorithm are on the same line or in a block.
func (p *zoneParser) endpoint(args []string) error {
	e, place, d := new(Endpoint), subdirective.Here(p.Dispenser), p.Dispenser
	rest, err := p.endpointRoute(e, args)
	if err != nil {
		return err
	}
	if err := p.endpointRate(e, rest); err != nil {
		return err
	}
	route, err := newRoute(e.Methods, e.Path)
	if err != nil {
		return p.WrapErr(err)
	}
	if earlier := p.endpoints[route.String()]; earlier != nil {
		return place.Errf("endpoint %s is already specified at %s:%d: use it once", route, earlier.File(), earlier.Line())
	}
	p.endpoints[route.String()] = place
	p.zone.Endpoints, p.endpointPlaces = append(p.zone.Endpoints, e), append(p.endpointPlaces, place)
	return subdirective.Block{Of: "endpoint", Optional: true, Lines: map[string]subdirective.Line{
		"limit":         limitLine(d, &e.Limit),
		"algorithm":     algorithmLine(d, &e.Algorithm),
		"cost":          costLine(d, &e.Cost),
		"mode":          modeLine(d, &e.Mode),
		"max_overshoot": maxOvershootLine(d, &e.MaxOvershoot),
		"on_outage":     onOutageLine(d, &e.OnOutage),
		"tier": {Usage: "tier {", Max: subdirective.AnyNumber, Parse: func(args []string) error {
			if len(args) > 0 {
				return p.Errf("unexpected %q: use `tier {`, because the zone finds the tier of a key", args[0])
			}
			return p.endpointTier(e)
		}},
	}}.Parse(d)
}

// endpointRoute parses the methods and the path at the start of args and returns the rest.
func (p *zoneParser) endpointRoute(e *Endpoint, args []string) (rest []string, err error) {
	if !startsPath(args[0]) {
		methods := args[0]
		if strings.Trim(methods, methodLetters+",") != "" {
			return nil, p.Errf("%q is neither a path nor methods: use a path that starts with / or *, or methods in "+
				"upper case such as GET or GET,POST", methods)
		}
		e.Methods = strings.Split(methods, ",")
		if distinct := slices.Compact(slices.Sorted(slices.Values(e.Methods))); len(distinct) < len(e.Methods) {
			return nil, p.Errf("a method occurs twice in %s: use it once", methods)
		}
		args = args[1:]
		if len(args) == 0 || !startsPath(args[0]) {
			return nil, p.Errf("endpoint %s has no path that starts with / or *: use `%s`", methods, endpointUsage)
		}
	}
	e.Path = args[0]
	return args[1:], nil
}

// endpointRate parses what follows the path on the same line: a rate, and after it an algorithm.
func (p *zoneParser) endpointRate(e *Endpoint, args []string) (err error) {
	if len(args) == 0 {
		return nil
	}
	if e.Limit, args, err = cutRate(args); err != nil {
		return p.WrapErr(err)
	}
	if len(args) == 0 {
		return nil
	}
	if _, err := limiter.ParseKind(args[0]); err != nil {
		return p.Errf("unexpected %q after the rate: use `burst <n>` or an algorithm: %w", args[0], err)
	}
	if len(args) > 2 {
		return p.Errf("unexpected %q: use `%s`", args[2], endpointUsage)
	}
	e.Algorithm, err = parseAlgorithm(p.Dispenser, args)
	return err
}

// endpointTier parses the limits of tiers at an endpoint.
func (p *zoneParser) endpointTier(e *Endpoint) error {
	return subdirective.Block{Of: "tier", Other: &subdirective.Line{
		Usage: "<tier> " + rateUsage, Min: 1, Max: subdirective.AnyNumber,
		Parse: func(args []string) error {
			name := args[0]
			p.endpointTiers = append(p.endpointTiers, tierUse{name, subdirective.Here(p.Dispenser)})
			err := parseTier(p.Dispenser, args, &e.Tiers)
			if err == nil && e.Tiers[name] == nil {
				err = p.Errf("tier %s is empty: use a limit for this endpoint, such as `%s 100/1m`", name, name)
			}
			return err
		},
	}}.Parse(p.Dispenser)
}

// checkEndpoints checks the endpoints against the rest of the zone.
func (p *zoneParser) checkEndpoints() error {
	if len(p.endpointTiers) > 0 && p.zone.Tier == nil {
		return p.endpointTiers[0].place.Errf("the zone has no tiers: use `tier <placeholder> {` in the zone to find the " +
			"tier of a key")
	}
	if p.zone.Tier != nil {
		return checkTiers(p.endpointTiers, p.zone.Tier.Tiers)
	}
	for i, e := range p.zone.Endpoints {
		if e.Limit == nil && p.zone.Limit == nil {
			return p.endpointPlaces[i].Errf("endpoint %s and its zone have no limit: use `endpoint %s <rate>`", e.Path, e.Path)
		}
	}
	return nil
}
