package fleetlimit

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/subdirective"
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
		place:           subdirective.Here(p.Dispenser),
		endpoints:       make(map[string]*caddyfile.Dispenser),
	}
	var err error
	if z.places, err = z.block().Read(p.Dispenser); err != nil {
		return nil, err
	}
	return z.zone, z.finish()
}

func (p *zoneParser) block() *subdirective.Block {
	c := p.zone
	return &subdirective.Block{Of: "zone", Lines: map[string]subdirective.Line{
		"match":            {Usage: matchUsage, Raw: true, Repeats: true, Parse: p.match},
		"key":              {Usage: "key <template>", Min: 1, Max: 1, Parse: subdirective.Text(&c.Key)},
		"on_ambiguous_key": {Usage: "on_ambiguous_key reject | missing", Min: 1, Max: 1, Parse: p.onAmbiguousKey},
		"on_missing_key":   {Usage: "on_missing_key <template> | skip | deny", Min: 1, Max: 1, Parse: subdirective.Text(&c.OnMissingKey)},
		"ipv4_prefix":      {Usage: "ipv4_prefix <bits>", Min: 1, Max: 1, Parse: p.prefix(&c.IPv4Prefix, 32)},
		"ipv6_prefix":      {Usage: "ipv6_prefix <bits>", Min: 1, Max: 1, Parse: p.prefix(&c.IPv6Prefix, 128)},
		"limit":            limitLine(p.Dispenser, &c.Limit),
		"algorithm":        algorithmLine(p.Dispenser, &c.Algorithm),
		"mode":             modeLine(p.Dispenser, &c.Mode),
		"max_overshoot":    maxOvershootLine(p.Dispenser, &c.MaxOvershoot),
		"tier":             {Usage: "tier [<placeholder>] [trusted] {", Max: 2, Parse: p.tier},
		"endpoint":         {Usage: endpointUsage, Min: 1, Max: subdirective.AnyNumber, Repeats: true, Parse: p.endpoint},
		"cost":             costLine(p.Dispenser, &c.Cost),
		"max_keys":         {Usage: "max_keys <n>", Min: 1, Max: 1, Parse: p.maxKeys},
		"allow_key":        {Usage: "allow_key <glob...>", Min: 1, Max: subdirective.AnyNumber, Repeats: true, Parse: subdirective.List(&c.AllowKeys)},
		"deny_key":         {Usage: "deny_key <glob...>", Min: 1, Max: subdirective.AnyNumber, Repeats: true, Parse: subdirective.List(&c.DenyKeys)},
		"events":           {Usage: "events <n>", Min: 1, Max: 1, Parse: p.events},
		"window":           {Usage: "window <duration>", Min: 1, Max: 1, Parse: p.window},
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
	if _, err := newZone(p.name, p.zone, p.app, nil); err != nil {
		return p.place.Errf("zone %q: %w", p.name, err)
	}
	return nil
}

const matchUsage = "match @<name>` or `match { <matchers> }"

// match parses a set of matchers. Of several sets, any may match.
func (p *zoneParser) match([]string) error {
	ahead := subdirective.Here(p.Dispenser)
	args := ahead.RemainingArgs()
	switch {
	case len(args) == 1 && strings.HasPrefix(args[0], "@"):
		return p.matchNamed()
	case len(args) == 0 && !subdirective.OpensBlock(p.Dispenser):
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

// tier parses how the tier of a key is found, and the limits of the tiers.
func (p *zoneParser) tier(args []string) error {
	c := new(ZoneTier)
	p.zone.Tier = c
	if len(args) > 0 {
		if !isPlaceholder(args[0]) {
			return p.Errf("%q is not a placeholder: say `tier {<placeholder>} {`, such as {http.auth.user.tier}, "+
				"or `tier {` for tiers by key", args[0])
		}
		var err error
		if c.Trusted, err = parseTrusted(p.Dispenser, args[0], args[1:]); err != nil {
			return err
		}
		c.Placeholder = args[0]
	}
	place := subdirective.Here(p.Dispenser)

	var uses []tierUse
	b := subdirective.Block{
		Of: "tier",
		Lines: map[string]subdirective.Line{
			"keys": {Usage: "keys <glob...> <tier>", Min: 2, Max: subdirective.AnyNumber, Repeats: true, Parse: func(args []string) error {
				globs, tier := args[:len(args)-1], args[len(args)-1]
				for _, g := range globs {
					c.Keys = append(c.Keys, KeyTier{Glob: g, Tier: tier})
				}
				uses = append(uses, tierUse{tier, subdirective.Here(p.Dispenser)})
				return nil
			}},
			"default": {Usage: "default <tier>", Min: 1, Max: 1, Parse: func(args []string) error {
				c.Default = args[0]
				uses = append(uses, tierUse{c.Default, subdirective.Here(p.Dispenser)})
				return nil
			}},
		},
		Other: &subdirective.Line{Usage: "<tier> [" + rateUsage + "]", Min: 1, Max: subdirective.AnyNumber, Parse: p.zoneTier},
	}
	if _, err := b.Read(p.Dispenser); err != nil {
		return err
	}
	if c.Placeholder == "" && len(c.Keys) == 0 && c.Default == "" {
		return place.Errf("no key has a tier: say `tier {<placeholder>} {`, or `keys <glob...> <tier>` or " +
			"`default <tier>` in the block")
	}
	return checkTiers(uses, c.Tiers)
}

// zoneTier parses a tier of the zone. Without a limit it has that of the global option.
func (p *zoneParser) zoneTier(args []string) error {
	name := args[0]
	if len(args) == 1 && p.app != nil && p.app.Tiers[name] == nil {
		return p.Errf("tier %s has no limit: say one here, such as `%s 100/1m`, or define `tier %s <rate>` in the "+
			"global rate_limit option", name, name, name)
	}
	tier, err := parseTier(p.Dispenser, args)
	addTier(&p.zone.Tier.Tiers, name, tier)
	return err
}

// parseTier parses a tier: its name and, when args go on, its limit, and the block that may follow. The tier is nil when
// there is nothing but the name.
func parseTier(d *caddyfile.Dispenser, args []string) (t *Tier, err error) {
	t = new(Tier)
	if len(args) > 1 {
		limit, err := parseRate(args[1:])
		if err != nil {
			return nil, d.Errf("tier %s: %w", args[0], err)
		}
		t.Limit = *limit
	}
	if !subdirective.OpensBlock(d) {
		if len(args) == 1 {
			return nil, nil
		}
		return t, nil
	}
	b := subdirective.Block{Of: "a tier", Lines: map[string]subdirective.Line{
		"mode":          modeLine(d, &t.Mode),
		"max_overshoot": maxOvershootLine(d, &t.MaxOvershoot),
	}}
	_, err = b.Read(d)
	return t, err
}

func addTier(tiers *map[string]*Tier, name string, t *Tier) {
	if *tiers == nil {
		*tiers = make(map[string]*Tier)
	}
	(*tiers)[name] = t
}

// checkTiers returns an error for the first use of a tier that is not among tiers.
func checkTiers(uses []tierUse, tiers map[string]*Tier) error {
	for _, u := range uses {
		if _, found := tiers[u.tier]; !found {
			return u.place.Errf("tier %s is not one of the zone's (%s): add it to the zone's tier block",
				u.tier, strings.Join(slices.Sorted(maps.Keys(tiers)), ", "))
		}
	}
	return nil
}

// events parses the events per window.
func (p *zoneParser) events(args []string) error {
	n, err := parseEvents(args[0])
	if err != nil {
		return p.WrapErr(err)
	}
	if n == 0 {
		return p.Errf("0 events admit nothing: say `limit block` instead of events and window to reject every request")
	}
	p.zone.MaxEvents = n
	return nil
}

// window parses the length of the window.
func (p *zoneParser) window(args []string) error {
	w, err := parseWindow(args[0])
	if err != nil {
		return p.WrapErr(err)
	}
	p.zone.Window = caddy.Duration(w)
	return nil
}

// finishLegacy checks a zone in the syntax of caddy-ratelimit once it is read.
func (p *zoneParser) finishLegacy() error {
	for _, name := range []string{"limit", "algorithm", "tier", "endpoint", "cost", "mode", "max_overshoot", "on_ambiguous_key"} {
		if place := p.places[name]; place != nil {
			return place.Errf("%s cannot stand beside events and window: say `limit %s` instead of those two",
				name, p.legacyRate())
		}
	}
	for _, name := range []string{"events", "window"} {
		if p.places[name] == nil {
			return p.place.Errf("zone %q has no %s: say both events and window, or instead `limit <events>/<window>`",
				p.name, name)
		}
	}
	return nil
}

// legacyRate returns what the zone says in events and window as a rate, as far as it says it.
func (p *zoneParser) legacyRate() string {
	if p.zone.MaxEvents == 0 || p.zone.Window == 0 {
		return "<events>/<window>"
	}
	return (&Limit{Events: p.zone.MaxEvents, Window: p.zone.Window}).String()
}
