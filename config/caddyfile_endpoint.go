package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
	"github.com/fleetlimit/fleetlimit/internal/text/httpmethod"
	"github.com/fleetlimit/fleetlimit/internal/text/pathpattern"
	"github.com/fleetlimit/fleetlimit/internal/text/route"
)

const endpointUsage = "endpoint [<METHOD>[,<METHOD>...]] <path> [<rate> [<algorithm>]]"

// endpoint parses an endpoint. Its rate and algorithm are on the same line or in a block.
func (p *zoneParser) endpoint(args []string) error {
	e, place := new(Endpoint), subdirective.Here(p.Dispenser)
	rest, err := p.endpointRoute(e, args)
	if err != nil {
		return err
	}
	if err := p.endpointRate(e, rest); err != nil {
		return err
	}
	r, err := route.New(e.Methods, e.Path)
	if err != nil {
		return p.WrapErr(err)
	}
	for _, earlier := range p.endpoints {
		if earlier.route.Covers(r) {
			return place.WrapErr(r.ShadowedBy(earlier.route, placeOf(earlier.place)))
		}
	}
	p.zone.Endpoints, p.endpoints = append(p.zone.Endpoints, e), append(p.endpoints, endpointPlace{r, place})
	return subdirective.Block{Of: "endpoint", Optional: true, Remedies: remedies["block endpoint"], Lines: map[string]subdirective.Line{
		"limit":        limitLine(&e.Limit),
		"algorithm":    algorithmLine(&e.Algorithm),
		"cost":         costLine(&e.Cost),
		"count_status": countStatusLine(&e.CountStatus),
		"charge":       chargeLine(&e.Charge),
		"charge_max":   chargeMaxLine(&e.ChargeMax),
		"mode":         wordLine("mode", &e.Mode),
		"on_outage":    onOutageLine(&e.OnOutage),
		"concurrent":   concurrentLine(&e.Concurrent),
		"wait":         waitLine(&e.Wait),
		"tier": {Usage: "tier {", Max: subdirective.AnyNumber, Block: func(args []string) error {
			if len(args) > 0 {
				return p.Errf("unexpected %q: use `tier {`, because the zone finds the tier of a key", args[0])
			}
			return p.endpointTier(e)
		}},
	}}.Parse(p.Dispenser)
}

// endpointRoute parses the methods and the path at the start of args and returns the rest.
func (p *zoneParser) endpointRoute(e *Endpoint, args []string) (rest []string, err error) {
	if !pathpattern.Starts(args[0]) {
		if e.Methods, err = endpointMethods(args); err != nil {
			return nil, p.WrapErr(err)
		}
		args = args[1:]
	}
	e.Path = args[0]
	return args[1:], nil
}

// endpointMethods parses the methods, which are the first of args. A path must follow them.
func endpointMethods(args []string) ([]string, error) {
	text := args[0]
	path := slices.IndexFunc(args, pathpattern.Starts)
	switch spelled := spelledMethods(strings.Join(args[:max(path, 0)], ",")); {
	case strings.HasPrefix(text, "@"):
		return nil, fmt.Errorf("endpoint has no named matchers: use a path, or `match %s` in a zone of its own", text)
	case strings.ContainsAny(text[:1], "^~"), strings.Contains(text, "://"):
		return nil, pathpattern.Check(text)
	case path < 0 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-,") == "":
		return nil, fmt.Errorf("endpoint %s has no path that starts with / or *: use `%s`", text, endpointUsage)
	case path == 1 && spelled == text:
		methods := strings.Split(text, ",")
		if distinct := slices.Compact(slices.Sorted(slices.Values(methods))); len(distinct) < len(methods) {
			return nil, fmt.Errorf("a method occurs twice in %s: use it once", text)
		}
		return methods, nil
	case spelled != "":
		return nil, fmt.Errorf("the methods of an endpoint are one word in upper case: use `endpoint %s %s`", spelled, args[path])
	}
	if m := methodsAndPath.FindStringSubmatch(text); m != nil && spelledMethods(m[1]) != "" {
		return nil, fmt.Errorf("%q is neither a path nor methods: use `endpoint %s %s`", text, spelledMethods(m[1]), m[2])
	}
	return nil, fmt.Errorf("%q is neither a path nor methods: use a path that starts with / or *, or methods in upper case "+
		"such as GET or GET,POST", text)
}

// methodsAndPath matches methods and a path in one word.
var methodsAndPath = regexp.MustCompile(`^([A-Za-z,|]+):? *(/.*)$`)

// spelledMethods returns the methods in text as an endpoint spells them: in upper case, with commas
// between them. text may have other separators. If it has lower-case letters and a word that is no
// known method, spelledMethods returns "".
func spelledMethods(text string) string {
	methods := strings.FieldsFunc(strings.ToUpper(text), func(c rune) bool { return strings.ContainsRune(",|;:& ", c) })
	for _, m := range methods {
		warning, err := httpmethod.Check(m)
		if lower := strings.ToUpper(text) != text; err != nil && lower || warning != "" && lower {
			return ""
		}
	}
	return strings.Join(methods, ",")
}

// endpointRate parses what follows the path on the same line: a rate, which an algorithm may
// follow.
func (p *zoneParser) endpointRate(e *Endpoint, args []string) (err error) {
	if len(args) == 0 {
		return nil
	}
	method := strings.ToUpper(args[0])
	warning, notMethod := httpmethod.Check(method)
	switch {
	case pathpattern.Starts(args[0]):
		return p.Errf("an endpoint has one path: use one `endpoint` for each, and no method for all methods")
	case args[0] == "limit":
		return p.Errf("unexpected %q: use the rate without it, or a block with `limit <rate>`", args[0])
	case notMethod == nil && warning == "":
		return p.Errf("the methods come before the path: use `endpoint %s %s`", method, e.Path)
	}
	if e.Limit, args, err = cutRate(args); err != nil {
		return p.WrapErr(err)
	}
	if len(args) == 0 {
		return nil
	}
	if _, err := parseKind(args[0]); err != nil {
		return p.Errf("unexpected %q after the rate: use `burst <n>` or an algorithm: %w", args[0], err)
	}
	if len(args) > 2 {
		return p.Errf("unexpected %q: use `%s`", args[2], endpointUsage)
	}
	if e.Algorithm, err = parseAlgorithm(args); err != nil {
		return p.WrapErr(err)
	}
	return nil
}

// endpointTier parses the limits of tiers at an endpoint.
func (p *zoneParser) endpointTier(e *Endpoint) error {
	return subdirective.Block{Of: "tier", Other: &subdirective.Line{
		Usage: "<tier> " + rateUsage, Min: 1, Max: subdirective.AnyNumber, Words: true,
		Block: func(args []string) error {
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
		if e.Limit == nil && p.zone.Limit == nil && e.Concurrent == 0 && p.zone.Concurrent == 0 {
			return p.endpoints[i].place.Errf("endpoint %s and its zone have no limit: use `endpoint %s <rate>`", e.Path, e.Path)
		}
	}
	return nil
}
