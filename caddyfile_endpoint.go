package fleetlimit

import (
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetlimit/fleetlimit/internal/subdirective"
	"github.com/fleetlimit/fleetlimit/limiter"
)

const endpointUsage = "endpoint [<METHOD>[,<METHOD>...]] <path> [<rate> [<algorithm>]]"

// endpoint parses an endpoint: its route and, on the same line or in a block, what it does not take from the zone.
func (p *zoneParser) endpoint(args []string) error {
	e, place := new(Endpoint), subdirective.Here(p.Dispenser)
	rest, err := p.endpointRoute(e, args)
	if err != nil {
		return err
	}
	if err := p.endpointRate(e, rest); err != nil {
		return err
	}
	if err := p.addEndpoint(e, place); err != nil {
		return err
	}
	if !subdirective.OpensBlock(p.Dispenser) {
		return nil
	}
	b := subdirective.Block{Of: "endpoint", Lines: map[string]subdirective.Line{
		"limit":         limitLine(p.Dispenser, &e.Limit),
		"algorithm":     algorithmLine(p.Dispenser, &e.Algorithm),
		"cost":          costLine(p.Dispenser, &e.Cost),
		"mode":          modeLine(p.Dispenser, &e.Mode),
		"max_overshoot": maxOvershootLine(p.Dispenser, &e.MaxOvershoot),
		"tier": {Usage: "tier {", Max: subdirective.AnyNumber, Parse: func(args []string) error {
			if len(args) > 0 {
				return p.Errf("unexpected %q: say `tier {`; how a tier is found is for the zone's tier to say", args[0])
			}
			return p.endpointTier(e)
		}},
	}}
	_, err = b.Read(p.Dispenser)
	return err
}

// endpointRoute parses the methods and the path at the beginning of args and returns what follows.
func (p *zoneParser) endpointRoute(e *Endpoint, args []string) (rest []string, err error) {
	if !startsPath(args[0]) {
		if e.Methods, err = parseMethods(p.Dispenser, args[0]); err != nil {
			return nil, err
		}
		args = args[1:]
		if len(args) == 0 || !startsPath(args[0]) {
			return nil, p.Errf("endpoint %s needs a path that starts with / or *: say `%s`",
				strings.Join(e.Methods, ","), endpointUsage)
		}
	}
	e.Path = args[0]
	if strings.ContainsAny(e.Path, "{}") {
		return nil, p.Errf("braces in the path %s mean nothing: use * for any text, such as /users/*", e.Path)
	}
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
		return p.Errf("after the rate only `burst <n>` and an algorithm may follow: %w", err)
	}
	if len(args) > 2 {
		return p.Errf("unexpected %q: say `%s`", args[2], endpointUsage)
	}
	e.Algorithm, err = parseAlgorithm(p.Dispenser, args)
	return err
}

// endpointTier parses the limits of tiers at an endpoint.
func (p *zoneParser) endpointTier(e *Endpoint) error {
	b := subdirective.Block{Of: "tier", Other: &subdirective.Line{
		Usage: "<tier> " + rateUsage, Min: 1, Max: subdirective.AnyNumber,
		Parse: func(args []string) error {
			p.endpointTiers = append(p.endpointTiers, tierUse{args[0], subdirective.Here(p.Dispenser)})
			tier, err := parseTier(p.Dispenser, args)
			if err == nil && tier == nil {
				err = p.Errf("tier %s says nothing: say its limit at this endpoint, such as `%s 100/1m`", args[0], args[0])
			}
			addTier(&e.Tiers, args[0], tier)
			return err
		},
	}}
	_, err := b.Read(p.Dispenser)
	return err
}

// addEndpoint adds e to the zone unless it is there.
func (p *zoneParser) addEndpoint(e *Endpoint, place *caddyfile.Dispenser) error {
	route := e.route()
	if earlier := p.endpoints[route]; earlier != nil {
		return place.Errf("endpoint %s is already specified at %s:%d: remove one of the two",
			route, earlier.File(), earlier.Line())
	}
	p.endpoints[route] = place
	p.zone.Endpoints = append(p.zone.Endpoints, e)
	return nil
}

// finishEndpoints checks the endpoints against the rest of the zone.
func (p *zoneParser) finishEndpoints() error {
	if len(p.endpointTiers) > 0 && p.zone.Tier == nil {
		return p.endpointTiers[0].place.Errf("the zone has no tiers: add `tier <placeholder> {` to the zone, " +
			"which says how the tier of a key is found")
	}
	if p.zone.Tier != nil {
		return checkTiers(p.endpointTiers, p.zone.Tier.Tiers)
	}
	for _, e := range p.zone.Endpoints {
		if e.Limit == nil && p.zone.Limit == nil {
			return p.endpoints[e.route()].Errf("endpoint %s has no limit, and the zone has none for it to take: "+
				"say `endpoint %s <rate>`", e.Path, e.Path)
		}
	}
	return nil
}

// route returns what two endpoints of a zone must not have in common.
func (e *Endpoint) route() string {
	methods := slices.Sorted(slices.Values(e.Methods))
	return strings.TrimSpace(strings.Join(methods, ",") + " " + strings.ToLower(e.Path))
}

func startsPath(s string) bool { return s[0] == '/' || s[0] == '*' }

// parseMethods parses a list of methods with commas between them.
func parseMethods(d *caddyfile.Dispenser, s string) ([]string, error) {
	methods := strings.Split(s, ",")
	for i, m := range methods {
		if m == "" || strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != "" {
			return nil, d.Errf("%q is neither a path, which starts with / or *, nor methods in upper case such "+
				"as GET or GET,POST", s)
		}
		if slices.Contains(methods[:i], m) {
			return nil, d.Errf("method %s is there twice: remove one of the two", m)
		}
	}
	return methods, nil
}
