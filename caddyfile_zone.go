package fleetlimit

import (
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A zoneParser parses the block of one zone.
type zoneParser struct {
	*directiveParser
	name   string
	zone   *Zone
	place  *caddyfile.Dispenser            // of the zone
	places map[string]*caddyfile.Dispenser // of its subdirectives

	endpoints     map[string]*caddyfile.Dispenser // places by methods and path
	endpointTiers []tierUse                       // tiers that endpoints name; the zone may define them further down

	// onlyLegacy is the error of what caddy-ratelimit accepts and this grammar does not. Whether the zone is in the syntax
	// of caddy-ratelimit is known when all of it is read.
	onlyLegacy error
}

// tierUse is a place where a tier is named that must be one of the zone's.
type tierUse struct {
	tier  string
	place *caddyfile.Dispenser
}

// parseZone parses the zone whose name has just been read.
func (p *directiveParser) parseZone(name string) (*Zone, error) {
	z := &zoneParser{
		directiveParser: p,
		name:            name,
		zone:            new(Zone),
		place:           here(p.Dispenser),
		endpoints:       make(map[string]*caddyfile.Dispenser),
	}
	var err error
	if z.places, err = z.block().read(p.Dispenser); err != nil {
		return nil, err
	}
	return z.zone, z.finish()
}

func (p *zoneParser) block() *block {
	c := p.zone
	return &block{of: "zone", lines: map[string]line{
		"match":            {usage: matchUsage, raw: true, repeats: true, parse: p.match},
		"key":              {usage: "key <template>", min: 1, max: 1, parse: text(&c.Key)},
		"on_ambiguous_key": {usage: "on_ambiguous_key reject | missing", min: 1, max: 1, parse: p.onAmbiguousKey},
		"on_missing_key":   {usage: "on_missing_key <template> | skip | deny", min: 1, max: 1, parse: text(&c.OnMissingKey)},
		"ipv4_prefix":      {usage: "ipv4_prefix <bits>", min: 1, max: 1, parse: p.prefix(&c.IPv4Prefix, 32)},
		"ipv6_prefix":      {usage: "ipv6_prefix <bits>", min: 1, max: 1, parse: p.prefix(&c.IPv6Prefix, 128)},
		"limit":            limitLine(p.Dispenser, &c.Limit),
		"algorithm":        algorithmLine(p.Dispenser, &c.Algorithm),
		"mode":             modeLine(p.Dispenser, &c.Mode),
		"max_overshoot":    maxOvershootLine(p.Dispenser, &c.MaxOvershoot),
		"tier":             {usage: "tier [<placeholder>] [trusted] {", max: 2, parse: p.tier},
		"endpoint":         {usage: endpointUsage, min: 1, max: anyNumber, repeats: true, parse: p.endpoint},
		"cost":             costLine(p.Dispenser, &c.Cost),
		"max_keys":         {usage: "max_keys <n>", min: 1, max: 1, parse: p.maxKeys},
		"allow_key":        {usage: "allow_key <glob...>", min: 1, max: anyNumber, repeats: true, parse: list(&c.AllowKeys)},
		"deny_key":         {usage: "deny_key <glob...>", min: 1, max: anyNumber, repeats: true, parse: list(&c.DenyKeys)},
		"events":           {usage: "events <n>", min: 1, max: 1, parse: p.events},
		"window":           {usage: "window <duration>", min: 1, max: 1, parse: p.window},
	}}
}

// finish checks what only the whole zone shows.
func (p *zoneParser) finish() error {
	check := p.finishModern
	if p.zone.legacy() {
		check = p.finishLegacy
	}
	if err := check(); err != nil {
		return err
	}
	return p.compile()
}

// finishModern checks a zone in the syntax of this package.
func (p *zoneParser) finishModern() error {
	if p.onlyLegacy != nil {
		return p.onlyLegacy
	}
	if err := validateZoneName(p.name, false); err != nil {
		return p.place.Errf("zone %q: %w", p.name, err)
	}
	if p.zone.Key == "" {
		return p.place.Errf("zone %q has no key: say what to count, such as `key {client_ip}`", p.name)
	}
	if p.zone.Limit == nil && p.zone.Tier == nil && len(p.zone.Endpoints) == 0 {
		return p.place.Errf("zone %q has no limit: say one, such as `limit 100/1m`", p.name)
	}
	return p.finishEndpoints()
}

// compile compiles the zone, as provisioning will, so that what cannot work is refused with its place in the Caddyfile. What
// the environment says is left to provisioning: the machine that adapts a Caddyfile need not be the one that runs it.
func (p *zoneParser) compile() error {
	if p.app == nil || p.zone.readsEnvironment() {
		return nil
	}
	if _, err := newZone(p.name, p.zone, p.app); err != nil {
		return p.place.Errf("zone %q: %w", p.name, err)
	}
	return nil
}

const matchUsage = "match @<name>` or `match { <matchers> }"

// match parses a set of matchers. Of several sets, any may match.
func (p *zoneParser) match([]string) error {
	ahead := here(p.Dispenser)
	args := ahead.RemainingArgs()
	switch {
	case len(args) == 1 && strings.HasPrefix(args[0], "@"):
		return p.matchNamed()
	case len(args) == 0 && !opensBlock(p.Dispenser):
		return p.Errf("wrong number of arguments: say `%s`", matchUsage)
	case len(args) > 0 && strings.ContainsAny(args[0][:min(1, len(args[0]))], "@/*"):
		return p.Errf("match %s is not clear: say `%s`, one set on each line", strings.Join(args, " "), matchUsage)
	case len(args) > 0:
		p.onlyLegacy = p.Errf("matchers need a block: say `match {`, `%s` on the next line, and `}`",
			strings.Join(args, " "))
	}
	set, err := caddyhttp.ParseCaddyfileNestedMatcherSet(p.Dispenser)
	if err != nil {
		return err
	}
	if len(set) == 0 {
		p.onlyLegacy = p.Errf("match is empty: say which requests the zone applies to, or remove it for all of them")
	}
	p.zone.MatcherSetsRaw = append(p.zone.MatcherSetsRaw, set)
	return nil
}

// matchNamed parses a set of matchers that is defined elsewhere in the site.
func (p *zoneParser) matchNamed() error {
	if p.named == nil {
		return p.Errf("named matchers are not known here: say `match { <matchers> }`")
	}
	set, _, err := p.named()
	if err != nil {
		return p.WrapErr(err)
	}
	p.zone.MatcherSetsRaw = append(p.zone.MatcherSetsRaw, set)
	return nil
}

// prefix returns the parser of a number of leading bits of an address.
func (p *zoneParser) prefix(bits **int, most int) func([]string) error {
	return func(args []string) error {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 0 || n > most {
			return p.Errf("%q is not a prefix: say the number of leading bits, 0 to %d", args[0], most)
		}
		*bits = &n
		return nil
	}
}

func (p *zoneParser) onAmbiguousKey(args []string) error {
	if args[0] != "reject" && args[0] != "missing" {
		return p.Errf("on_ambiguous_key is %q: use reject or missing", args[0])
	}
	p.zone.OnAmbiguousKey = args[0]
	return nil
}

func (p *zoneParser) maxKeys(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 {
		return p.Errf("max_keys %q is not a number of keys: say 1 or more", args[0])
	}
	p.zone.MaxKeys = n
	return nil
}

// text returns the parser of a text.
func text(s *string) func([]string) error {
	return func(args []string) error {
		*s = args[0]
		return nil
	}
}

// list returns the parser of texts that are added to a list.
func list(l *[]string) func([]string) error {
	return func(args []string) error {
		*l = append(*l, args...)
		return nil
	}
}

// durationLine is a subdirective that says a duration of 0 or more.
func durationLine(d *caddyfile.Dispenser, name string, duration *caddy.Duration) line {
	return line{usage: name + " <duration>", min: 1, max: 1, parse: func(args []string) error {
		v, err := caddy.ParseDuration(args[0])
		if err != nil || v < 0 {
			return d.Errf("%s %q is not a duration: say one such as 30s", name, args[0])
		}
		*duration = caddy.Duration(v)
		return nil
	}}
}
