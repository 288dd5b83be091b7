package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/text/route"
)

// A zoneParser parses the block of one zone.
type zoneParser struct {
	*zonesParser
	name   string
	zone   *Zone
	place  *caddyfile.Dispenser            // place of the zone
	places map[string]*caddyfile.Dispenser // places of its subdirectives, by name

	endpoints     []endpointPlace // in written order
	endpointTiers []tierUse       // tiers that endpoints name; the zone may define them further down

	// onlyLegacy is the error about something that only the syntax of caddy-ratelimit permits. It is
	// reported if the zone, once it has been read, turns out not to be in that syntax.
	onlyLegacy error
}

// An endpointPlace is an endpoint with the place of its definition.
type endpointPlace struct {
	route *route.Route
	place *caddyfile.Dispenser
}

// parseZone parses the zone whose name is the current token.
func (p *zonesParser) parseZone(name string) (*Zone, error) {
	z := &zoneParser{
		zonesParser: p,
		name:        name,
		zone:        &Zone{Place: placeOf(p.Dispenser)},
		place:       subdirective.Here(p.Dispenser),
	}
	var err error
	if z.places, err = z.block().Read(p.Dispenser); err != nil {
		return nil, err
	}
	if err = z.checkImports(); err == nil {
		err = z.check()
	}
	return z.zone, err
}

// checkImports refuses a zone that has lost arguments of import.
func (p *zoneParser) checkImports() error {
	const key = "rate_limit.sources"
	sources, found := p.rest.State[key].(map[string][]caddyfile.Token)
	if !found {
		sources = make(map[string][]caddyfile.Token)
		if p.rest.State != nil {
			p.rest.State[key] = sources
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.places)) {
		if err := checkImport(p.places[name], sources); err != nil {
			return err
		}
	}
	return nil
}

func (p *zoneParser) block() subdirective.Block {
	c, many := p.zone, subdirective.AnyNumber
	return subdirective.Block{Of: "zone", Remedies: remedies["block zone"], Optional: !p.inApp, Lines: map[string]subdirective.Line{
		"match":             {Usage: matchUsage, Raw: true, Repeats: true, Block: p.match},
		"key":               {Usage: keyUsage, Min: 1, Max: many, Parse: p.key},
		"on_missing_key":    {Usage: onMissingKeyUsage, Min: 1, Max: many, Parse: p.onMissingKey},
		"on_ambiguous_key":  wordLine("on_ambiguous_key", &c.OnAmbiguousKey),
		"on_path":           wordLine("on_path", &c.OnPath),
		"ipv4_prefix":       prefixLine("ipv4_prefix", 32, &c.IPv4Prefix),
		"ipv6_prefix":       prefixLine("ipv6_prefix", 128, &c.IPv6Prefix),
		"limit":             limitLine(&c.Limit),
		"algorithm":         algorithmLine(&c.Algorithm),
		"mode":              wordLine("mode", &c.Mode),
		"on_outage":         onOutageLine(&c.OnOutage),
		"concurrent":        concurrentLine(&c.Concurrent),
		"max_hold":          subdirective.Duration("max_hold", false, &c.MaxHold),
		"hold_after_cancel": subdirective.Duration("hold_after_cancel", false, &c.HoldAfterCancel),
		"adaptive":          adaptiveLine(p.Dispenser, &c.Adaptive),
		"tier":              {Usage: "tier [<placeholder>] [trusted] {", Max: 2, Words: true, Block: p.tier},
		"endpoint":          {Usage: endpointUsage, Min: 1, Max: many, Repeats: true, Words: true, Block: p.endpoint},
		"cost":              costLine(&c.Cost),
		"count_status":      countStatusLine(&c.CountStatus),
		"wait":              waitLine(&c.Wait),
		"charge":            chargeLine(&c.Charge),
		"charge_max":        chargeMaxLine(&c.ChargeMax),
		"max_keys":          subdirective.Number("max_keys", 1, many, &c.MaxKeys),
		"max_memory":        sizeLine("max_memory", &c.MaxMemory),
		"allow_key":         {Usage: "allow_key <glob...>", Min: 1, Max: many, Repeats: true, Parse: subdirective.List(&c.AllowKeys)},
		"deny_key":          {Usage: "deny_key <glob...>", Min: 1, Max: many, Repeats: true, Parse: subdirective.List(&c.DenyKeys)},
		"reject_header":     rejectHeaderLine(&c.RejectHeaders),
		"dry_run":           dryRunLine(&c.DryRun),
		"compare":           {Usage: compareUsage, Max: many, Block: p.compare},
		"events":            subdirective.Value("events <n>", 1, 1, &c.MaxEvents, parseMaxEvents),
		"window":            subdirective.Value("window <duration>", 1, 1, &c.Window, parseLegacyWindow),
	}}
}

// check checks the zone after all of it has been read. It compiles the zone as provisioning will,
// so that errors have a place in the Caddyfile. The environment is left to provisioning, because
// the Caddyfile may be adapted on another machine.
func (p *zoneParser) check() error {
	if p.zone.IsUse() && !p.inApp {
		return p.checkUse()
	}
	if app := p.rest.App; app != nil {
		if shared := app.Zones[p.name]; shared != nil && !shared.CanShareCounts(p.zone) {
			return p.place.Errf("zone %q is already defined in the global option, at %s: use it without a block or with "+
				"`match` alone, or another name", p.name, shared.Place)
		}
	}
	if p.zone.Legacy() {
		if err := p.checkLegacy(); err != nil {
			return err
		}
	} else if p.onlyLegacy != nil {
		return p.onlyLegacy
	} else if err := p.checkEndpoints(); err != nil {
		return err
	}
	return p.compile(p.zone)
}

// compile compiles z as provisioning will, unless zones are not to be compiled.
func (p *zoneParser) compile(z *Zone) error {
	if p.rest.CheckZone == nil {
		return nil
	}
	if err := p.rest.CheckZone(p.name, z); err != nil && !errors.Is(err, keytemplate.ErrUnset) {
		return p.placeOfError(err).Errf("zone %q: %w", p.name, err)
	}
	return nil
}

// placeOfError returns the place of the outermost setting that err is about, or else the place of
// the zone.
func (p *zoneParser) placeOfError(err error) *caddyfile.Dispenser {
	var in *SettingError
	switch {
	case !errors.As(err, &in):
		return p.place
	case in.Endpoint > 0 && in.Endpoint <= len(p.endpoints):
		return p.endpoints[in.Endpoint-1].place
	}
	return cmp.Or(p.places[in.Setting], p.place)
}

// checkUse checks a zone that the global option must define.
func (p *zoneParser) checkUse() error {
	app := p.rest.App
	if app == nil {
		return p.onlyLegacy
	}
	z, err := app.Zones.DefinitionFor(p.name, p.zone)
	switch {
	case err != nil:
		return p.place.Errf("zone %q %w", p.name, err)
	case p.zone.Compare == nil:
		return p.onlyLegacy
	}
	return p.compile(z)
}

// checkLegacy checks a zone in the syntax of caddy-ratelimit.
func (p *zoneParser) checkLegacy() error {
	rate := "<events>/<window>"
	if p.zone.MaxEvents != 0 && p.zone.Window != 0 {
		rate = (&Limit{Events: p.zone.MaxEvents, Window: p.zone.Window}).String()
	}
	for _, name := range []string{"limit", "algorithm", "tier", "endpoint", "cost", "count_status", "mode", "on_outage",
		"on_ambiguous_key", "on_path", "compare", "concurrent", "adaptive", "wait", "charge", "charge_max"} {
		if place := p.places[name]; place != nil {
			return place.Errf("%s does not work with events and window: use `limit %s` instead of those two", name, rate)
		}
	}
	if p.zone.OnMissingLimit != nil {
		return p.places["on_missing_key"].Errf("on_missing_key has no rate beside events and window: use `limit %s` instead "+
			"of those two", rate)
	}
	for _, name := range []string{"events", "window"} {
		if p.places[name] == nil {
			return p.place.Errf("zone %q has no %s: use both events and window, or instead `limit <events>/<window>`",
				p.name, name)
		}
	}
	return nil
}

const onMissingKeyUsage = "on_missing_key <template> [<rate>] | shared [<rate>] | skip | deny"

// onMissingKey parses what happens to requests without a key, and the limit that they may have.
func (p *zoneParser) onMissingKey(args []string) (err error) {
	c := p.zone
	if len(args) == 1 { // a rate may be in the same argument, as from import
		args = cutTemplate(args[0])
	}
	c.OnMissingKey = args[0]
	if len(args) > 1 {
		if c.OnMissingLimit, err = parseRate(strings.Fields(strings.Join(args[1:], " "))); err != nil {
			return fmt.Errorf("on_missing_key: %w", err)
		}
	}
	return CheckOnMissingKey(c.OnMissingKey, c.OnMissingLimit)
}

const matchUsage = "match @<name>` or `match { <matchers> }"

// match parses a set of matchers. A zone with several sets applies to requests that match any of
// them.
func (p *zoneParser) match([]string) error {
	args := subdirective.Here(p.Dispenser).RemainingArgs()
	switch {
	case len(args) == 1 && strings.HasPrefix(args[0], "@") && p.inApp:
		return p.Errf("%s belongs to a site: use `match { <matchers> }` here, or `match %s` where the site uses the zone",
			args[0], args[0])
	case len(args) == 1 && strings.HasPrefix(args[0], "@") && p.rest.Matcher == nil:
		return p.Errf("named matchers are not known here: use `match { <matchers> }`")
	case len(args) == 1 && strings.HasPrefix(args[0], "@"):
		set, _, err := p.rest.Matcher()
		if err != nil {
			return p.WrapErr(err)
		}
		p.zone.MatcherSetsRaw = append(p.zone.MatcherSetsRaw, set)
		return nil
	case len(args) == 0 && !subdirective.OpensBlock(p.Dispenser):
		return p.Errf("wrong number of arguments: use `%s`", matchUsage)
	case len(args) > 0 && strings.ContainsAny(args[0][:min(1, len(args[0]))], "@/*"):
		return p.Errf("match %s is not clear: use `%s`, one set on each line", strings.Join(args, " "), matchUsage)
	case len(args) > 0 && strings.Contains(args[0], " "):
		return p.Errf("%q is one word: use `match {`, `%s` on the next line, and `}`", args[0], strings.Join(args, " "))
	case len(args) > 0:
		p.onlyLegacy = p.Errf("matchers need a block: use `match {`, `%s` on the next line, and `}`", strings.Join(args, " "))
	}
	set, err := caddyhttp.ParseCaddyfileNestedMatcherSet(p.Dispenser)
	if err != nil {
		return err
	}
	if len(set) == 0 {
		p.onlyLegacy = p.Errf("match is empty: use matchers in it, or remove it to match all requests")
	}
	p.zone.MatcherSetsRaw = append(p.zone.MatcherSetsRaw, set)
	return nil
}

// prefixLine returns a subdirective with a number of leading bits of an address.
func prefixLine(name string, most int, bits **int) subdirective.Line {
	n := new(int)
	l := subdirective.Number(name, 0, most, n)
	parse := l.Parse
	l.Parse = func(args []string) error {
		*bits = n
		if number := strings.TrimPrefix(args[0], "/"); number != args[0] {
			return fmt.Errorf("%s is %q: use %s without a slash", name, args[0], number)
		}
		return parse(args)
	}
	return l
}

const keyUsage = "key <template>"

// key parses the template of the key, which is one word.
func (p *zoneParser) key(args []string) error {
	if len(args) > 1 {
		one := strings.ReplaceAll(strings.Join(args, ""), ",", "")
		if slices.ContainsFunc(args, func(a string) bool { return !strings.HasPrefix(a, "{") }) {
			one = "<template>"
		}
		return fmt.Errorf("wrong number of arguments, because a key is one word: use `key %s`, or quotes around spaces", one)
	}
	p.zone.Key = args[0]
	return nil
}

const compareUsage = "compare [<percent>] {"

// compare parses the limit and the algorithm that the comparison has in place of those of the zone.
func (p *zoneParser) compare(args []string) error {
	c, place := new(Comparison), subdirective.Here(p.Dispenser)
	p.zone.Compare = c
	if len(args) > 0 {
		if _, _, err := cutRate(args); err == nil {
			return p.Errf("the limit of compare belongs into its block: use `compare {`, and `limit %s` on the next line",
				strings.Join(args, " "))
		}
		if _, err := parseAlgorithm(args[:min(2, len(args))]); err == nil {
			return p.Errf("the algorithm of compare belongs into its block: use `compare {`, and `algorithm %s` on the next line",
				strings.Join(args, " "))
		}
		keys, err := percentOfKeys("compare", args[0])
		switch {
		case err != nil:
			return p.WrapErr(err)
		case keys == 0:
			return p.Errf("compare 0%% compares nothing: use no compare")
		case len(args) > 1:
			return p.Errf("unexpected %q: use `%s`", args[1], compareUsage)
		}
		c.Keys = &keys
	}
	err := subdirective.Block{Of: "compare", Remedies: remedies["block compare"], MayBeEmpty: true, Lines: map[string]subdirective.Line{
		"limit":     limitLine(&c.Limit),
		"algorithm": algorithmLine(&c.Algorithm),
	}}.Parse(p.Dispenser)
	if err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return place.Errf("compare: %w", err)
	}
	return nil
}

// parseMaxEvents parses the number of events per window in the syntax of caddy-ratelimit.
func parseMaxEvents(args []string) (int64, error) {
	n, err := ParseEvents(args[0])
	if err == nil && n == 0 {
		err = errors.New("0 events admit nothing: use `limit block` instead of events and window to reject every request")
	}
	return n, err
}

// parseLegacyWindow parses the length of the window in the syntax of caddy-ratelimit.
func parseLegacyWindow(args []string) (caddy.Duration, error) {
	w, err := parseWindow(args[0])
	return caddy.Duration(w), err
}
