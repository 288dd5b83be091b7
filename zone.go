package fleetlimit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A zone is a Zone of a configuration, compiled: what can be settled when the configuration loads is settled.
type zone struct {
	*zoneState
	legacy   bool // spelled in the syntax of caddy-ratelimit
	matchers caddyhttp.MatcherSets
	key      *template
	missing  missingKey
	allow    globs
	deny     globs
	tiers    *tierFinder // nil: no tiers
	policies []policy    // of the endpoints in written order, and of the zone itself at the end

	auth []string // the placeholders of authentication that key and tier read

	warned     atomic.Bool // of a missing key
	warnedAuth atomic.Bool // of authentication that comes later
}

// missingKey says what to do with a request whose key is missing.
type missingKey struct {
	action missingAction
	key    *template // for the actions that count
}

type missingAction uint8

const (
	missingDefault missingAction = iota // count it by the client's address, as nothing else is said, and warn
	missingCount                        // count it by another key
	missingSkip                         // leave it out of the zone
	missingDeny                         // answer 403
)

// A policy is what one endpoint of a zone, or the rest of it, allows.
type policy struct {
	route *route  // nil: every request
	rules []*rule // by tier; the first is for keys without a tier
	cost  cost
}

// clientIP is the placeholder for the client's address as Caddy determines it.
const clientIP = "{http.vars.client_ip}"

// newZone compiles config. Its matchers and state are the caller's to set.
func newZone(name string, config *Zone, app *App) (*zone, error) {
	legacy := config.legacy()
	if err := validateZoneName(name, legacy); err != nil {
		return nil, err
	}
	if legacy {
		var err error
		if config, err = modern(config); err != nil {
			return nil, err
		}
	} else if config.Key == "" {
		return nil, fmt.Errorf("has no key: say what to count, such as \"key\": %q", clientIP)
	}
	z := &zone{legacy: legacy}
	var err error
	if err = z.compileKeys(config, legacy && config.OnMissingKey == ""); err != nil {
		return nil, err
	}
	if z.allow, err = parseGlobs(config.AllowKeys); err != nil {
		return nil, fmt.Errorf("allow_key: %w", err)
	}
	if z.deny, err = parseGlobs(config.DenyKeys); err != nil {
		return nil, fmt.Errorf("deny_key: %w", err)
	}
	if z.tiers, err = newTierFinder(config.Tier, app.Tiers); err != nil {
		return nil, fmt.Errorf("tier: %w", err)
	}
	if z.policies, err = compilePolicies(name, config, z.tiers, app); err != nil {
		return nil, err
	}
	z.auth = slices.DeleteFunc(append(z.key.placeholders(), z.tiers.placeholders()...), func(p string) bool {
		return !strings.HasPrefix(p, "http.auth.")
	})
	return z, nil
}

// compileKeys compiles the templates of the key and of its substitute.
//
// lenient keys are what the replacer makes of them, as in caddy-ratelimit: nothing about them is ever missing.
func (z *zone) compileKeys(config *Zone, lenient bool) error {
	o := templateOptions{ipv4Bits: 32, ipv6Bits: 64, space: 'k', lenient: lenient}
	if z.legacy {
		o.ipv6Bits = 128
	}
	if p := config.IPv4Prefix; p != nil {
		if *p < 0 || *p > 32 {
			return fmt.Errorf("ipv4_prefix is %d: say 0 to 32", *p)
		}
		o.ipv4Bits, o.maskAll = *p, true
	}
	if p := config.IPv6Prefix; p != nil {
		if *p < 0 || *p > 128 {
			return fmt.Errorf("ipv6_prefix is %d: say 0 to 128", *p)
		}
		o.ipv6Bits, o.maskAll = *p, true
	}
	var err error
	if z.key, err = newTemplate(config.Key, o); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	switch config.OnMissingKey {
	case "skip":
		z.missing.action = missingSkip
		return nil
	case "deny":
		z.missing.action = missingDeny
		return nil
	case "":
	default:
		z.missing.action = missingCount
	}
	o.space, o.lenient = 'm', false
	if z.missing.key, err = newTemplate(firstOf(config.OnMissingKey, clientIP), o); err != nil {
		return fmt.Errorf("on_missing_key: %w", err)
	}
	return nil
}

// compilePolicies compiles the endpoints and the rest of the zone.
func compilePolicies(name string, config *Zone, tiers *tierFinder, app *App) ([]policy, error) {
	ofZone := &inheritance{
		zone: name, key: config.Key, maxKeys: config.MaxKeys, app: app,
		limit: config.Limit, algorithm: config.Algorithm, cost: config.Cost, tiers: tiers,
	}
	if ofZone.algorithm == nil {
		ofZone.algorithm = app.defaults.Algorithm
	}
	var policies []policy
	seen := make(map[string]bool)
	for i, e := range config.Endpoints {
		if e == nil {
			return nil, fmt.Errorf("endpoint %d is empty: it needs at least a path", i+1)
		}
		p, err := ofZone.endpoint(e)
		if err != nil {
			return nil, fmt.Errorf("endpoint %d (%s): %w", i+1, e.Path, err)
		}
		if id := p.route.String(); seen[id] {
			return nil, fmt.Errorf("endpoint %d (%s) is there already: remove one of the two", i+1, id)
		} else {
			seen[id] = true
		}
		policies = append(policies, *p)
	}
	rest, err := ofZone.policy(nil)
	if err != nil {
		return nil, err
	}
	if rest.rules[noTier] == nil && tiers != nil && tiers.fallback == noTier {
		return nil, fmt.Errorf("keys without a tier have no limit: say `limit`, or `default` in `tier`")
	}
	if len(policies) == 0 && slices.Equal(rest.rules, make([]*rule, len(rest.rules))) {
		return nil, fmt.Errorf("has no limit: say one, such as `limit 100/1m`")
	}
	return append(policies, *rest), nil
}

// validateZoneName refuses what would not fit into headers and paths. Zones in the syntax of caddy-ratelimit may have any
// name, as there.
func validateZoneName(name string, legacy bool) error {
	if legacy {
		return nil
	}
	ok := len(name) >= 1 && len(name) <= 64
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-", c) >= 0)
	}
	if !ok {
		return fmt.Errorf("the name is not valid: use 1 to 64 of the characters A-Z, a-z, 0-9, _, . and -")
	}
	return nil
}

// inheritance resolves what an endpoint takes from its zone.
type inheritance struct {
	zone      string
	key       string
	maxKeys   int
	app       *App
	limit     *Limit
	algorithm *Algorithm
	cost      *Cost
	tiers     *tierFinder
	own       map[string]*Limit // limits of the endpoint's own, by tier
	hasOwn    bool              // the endpoint has a limit of its own, which comes before the zone's tiers
}

// endpoint compiles an endpoint of the zone.
func (z *inheritance) endpoint(e *Endpoint) (*policy, error) {
	r, err := newRoute(e.Methods, e.Path)
	if err != nil {
		return nil, err
	}
	own := *z
	own.own = e.Tiers
	if e.Limit != nil {
		own.limit, own.hasOwn = e.Limit, true
	}
	if e.Algorithm != nil {
		own.algorithm = e.Algorithm
	}
	if e.Cost != nil {
		own.cost = e.Cost
	}
	if len(e.Tiers) > 0 && z.tiers == nil {
		return nil, fmt.Errorf("has limits for tiers, but its zone has no tiers: add `tier` to the zone")
	}
	for tier, limit := range e.Tiers {
		if _, found := z.tiers.index[tier]; !found {
			return nil, fmt.Errorf("tier %q is not one of the zone's: add it there", tier)
		}
		if limit == nil {
			return nil, fmt.Errorf("tier %q has no limit: say one", tier)
		}
	}
	return own.policy(r)
}

// policy makes the rule of each tier for the requests of a route; nil is the rest of the zone.
func (z *inheritance) policy(r *route) (*policy, error) {
	algorithm, err := z.algorithm.compile()
	if err != nil {
		return nil, err
	}
	p := &policy{route: r, rules: make([]*rule, z.tiers.count())}
	if p.cost, err = newCost(z.cost); err != nil {
		return nil, err
	}
	path := ""
	if r != nil {
		path = r.String()
	}
	id, err := z.app.ruleID(z.zone, z.key, path, algorithm.Kind.String(), strconv.Itoa(algorithm.SubWindows))
	if err != nil {
		return nil, err
	}
	for tier := range p.rules {
		limit := z.limitOf(tier)
		if limit == nil {
			continue
		}
		base := limiter.Rule{ID: id, Zone: z.zone, MaxKeys: z.maxKeys, Algorithm: algorithm}
		if p.rules[tier], err = newRule(base, limit); err == nil {
			err = p.cost.fits(p.rules[tier])
		}
		if err != nil {
			if tier != noTier {
				err = fmt.Errorf("tier %q: %w", z.tiers.names[tier], err)
			}
			return nil, err
		}
	}
	return p, nil
}

// limitOf returns the limit of a tier: the endpoint's for the tier, else the endpoint's, else the zone's for the tier, else
// the zone's.
func (z *inheritance) limitOf(tier int) *Limit {
	if tier == noTier {
		return z.limit
	}
	if own := z.own[z.tiers.names[tier]]; own != nil {
		return own
	}
	if z.hasOwn {
		return z.limit
	}
	return z.tiers.limits[tier]
}
