package fleetlimit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/ipset"
	"github.com/fleetlimit/fleetlimit/internal/subdirective"
)

func init() {
	// Before rate_limit, because it is registered first: no limit ever makes a health check fail.
	httpcaddyfile.RegisterHandlerDirective("rate_limit_health", parseHealthDirective)
	httpcaddyfile.RegisterDirectiveOrder("rate_limit_health", httpcaddyfile.Before, "basic_auth")
	httpcaddyfile.RegisterHandlerDirective("rate_limit", parseDirective)
	httpcaddyfile.RegisterDirectiveOrder("rate_limit", httpcaddyfile.Before, "basic_auth")
	// After forward_auth, and after what other plugins put directly after it, whoever registers first.
	httpcaddyfile.RegisterHandlerDirective("rate_limit_authenticated", parseDirective)
	httpcaddyfile.RegisterDirectiveOrder("rate_limit_authenticated", httpcaddyfile.Before, "request_header")
	httpcaddyfile.RegisterGlobalOption("rate_limit", parseGlobalOption)
}

// parseDirective parses the directive rate_limit, which is ordered before basic_auth, and the
// directive rate_limit_authenticated, which is the same but ordered directly after forward_auth:
//
//	rate_limit [<matcher>] {
//		zone <name>                                 # as the global option defines it
//		zone <name> {                               # name: 1 to 64 of A-Z, a-z, 0-9, _, . and -
//			match          @<name> | { <matchers> } # repeatable: any of them
//			key            <template>               # required; such as {http.request.header.X-Api-Key}
//			on_missing_key <template> [<rate>] | shared [<rate>] | skip | deny # default {client_ip}
//			on_ambiguous_key reject | missing       # default reject
//			ipv4_prefix    <bits>                   # default 32
//			ipv6_prefix    <bits>                   # default 64
//			limit          <rate>
//			algorithm      <algorithm>              # default token_bucket
//			mode           strict | lease           # default lease
//			max_overshoot  <percent>                # default 1%
//			on_outage      local | open | closed    # default local
//			tier [<placeholder>] [trusted] {
//				<tier> [<rate>] [{ <consistency> }] # without a rate: that of the global tier
//				keys <glob...> <tier>               # repeatable; the first that matches the key decides
//				default <tier>                      # for an unknown or empty tier
//			}
//			endpoint [<METHOD>[,<METHOD>...]] <path> [<rate> [<algorithm>]] { # repeatable; block optional
//				limit         <rate>
//				algorithm     <algorithm>
//				cost          <n> | <placeholder> [trusted]
//				mode          strict | lease
//				max_overshoot <percent>
//				on_outage     local | open | closed
//				tier {
//					<tier> [<rate>] [{ <consistency> }] # a rate, a block, or both
//				}
//			}
//			cost           <n> | <placeholder> [trusted] # default 1
//			max_keys       <n>                      # default 1000000
//			allow_key      <glob...>                # repeatable; not limited by this zone
//			deny_key       <glob...>                # repeatable; 403
//			dry_run        [<percent>]              # of keys: decide, count, log, never reject; default: all
//			compare        [<percent>] {            # of keys: count how often these would decide differently
//				limit          <rate>               # default: that of the zone
//				algorithm      <algorithm>          # default: that of the zone
//			}
//		}
//		zone <name> {                               # as the global option defines it, for other requests
//			match          @<name> | { <matchers> } # repeatable: any of them
//			dry_run        [<percent>]
//			compare        [<percent>] {            # as above
//				limit          <rate>
//				algorithm      <algorithm>
//			}
//		}
//		allow          <ip|cidr|private_ranges...>  # repeatable; not limited by any zone
//		deny           <ip|cidr|private_ranges...>  # repeatable; 403
//		headers        x | draft | all | none       # default all
//		reject         json | problem | error       # default json
//		log_rejections first | all | none           # default first
//		log_key
//		jitter         <percent>                    # such as 20%; default 0%
//		disable_metrics
//	}
//
// where
//
//	<rate>        <events>/<window> [burst <n>] | unlimited | block
//	<window>      a duration, such as 10s, 1m or 24h, or a unit: s, m, h, d
//	<algorithm>   token_bucket | sliding_window_log | fixed_window | sliding_window [<subwindows>]
//	<consistency> mode strict | lease, max_overshoot <percent> and on_outage local | open | closed, each on
//	              its own line
//
// The syntax of caddy-ratelimit is accepted too, with its meaning there: a zone with
//
//	events <n>
//	window <duration>
//
// instead of limit, a jitter such as 0.2, and, without effect,
//
//	sweep_interval <duration>
//	storage        <module...>
//	distributed {
//		read_interval  <duration>
//		write_interval <duration>
//		purge_age      <duration>
//	}
func parseDirective(helper httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	app, err := globalApp(helper)
	if err != nil {
		return nil, err
	}
	h := new(Handler)
	p := directiveParser{Dispenser: helper.Dispenser, h: h, app: app, named: helper.MatcherToken}
	if err := p.parse(); err != nil {
		return nil, err
	}
	if err := p.compareWithOthers(helper.State); err != nil {
		return nil, err
	}
	return h, nil
}

// globalApp returns the app of the global option, without what provisioning adds.
func globalApp(helper httpcaddyfile.Helper) (*App, error) {
	app := new(App)
	if option, found := helper.Option(appName).(httpcaddyfile.App); found {
		if err := json.Unmarshal(option.Value, app); err != nil {
			return nil, err
		}
	}
	if app.Defaults != nil {
		app.defaults = *app.Defaults
	}
	return app, nil
}

// UnmarshalCaddyfile parses the directive as parseDirective does, but does not know the rest of the
// Caddyfile: `match @<name>` is an error, and zones are not compiled.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	p := directiveParser{Dispenser: d, h: h}
	return p.parse()
}

// A directiveParser parses one directive into h.
type directiveParser struct {
	*caddyfile.Dispenser
	h     *Handler
	app   *App                                  // the global option; nil: unknown
	named func() (caddy.ModuleMap, bool, error) // resolves the matcher of the next argument; nil: cannot
	inApp bool                                  // the zones are the app's, not a directive's
	zones map[string]*caddyfile.Dispenser       // where each zone is defined
}

func (p *directiveParser) parse() error {
	p.Next()
	name := p.Val()
	if p.NextArg() {
		return p.Errf("unexpected %q: use `%s [<matcher>] {`, where a matcher is *, a path that starts with "+
			"/, or @<name>", p.Val(), name)
	}
	directive := subdirective.Here(p.Dispenser)
	p.h.Place = placeOf(directive)
	p.zones = make(map[string]*caddyfile.Dispenser)
	d, h := p.Dispenser, p.h
	b := subdirective.Block{Of: name, Remedies: handlerRemedies, Lines: map[string]subdirective.Line{
		"zone":            {Usage: "zone <name> [{ ... }]", Min: 1, Max: 1, Repeats: true, Parse: p.zone},
		"allow":           addressesLine(d, "allow", &h.Allow),
		"deny":            addressesLine(d, "deny", &h.Deny),
		"headers":         subdirective.Word(d, headersUsage, parseHeaderSet, &h.Headers),
		"reject":          subdirective.Word(d, rejectUsage, parseRejectStyle, &h.Reject),
		"log_rejections":  subdirective.Word(d, "log_rejections first | all | none", parseRejectionLog, &h.LogRejections),
		"log_key":         subdirective.Flag("log_key", &h.LogKey),
		"jitter":          {Usage: "jitter <percent>", Min: 1, Max: 1, Parse: p.jitter},
		"disable_metrics": subdirective.Flag("disable_metrics", &h.DisableMetrics),
		"distributed":     {Usage: "distributed [{ ... }]", Parse: p.distributed},
		"storage":         {Usage: "storage <module...>", Raw: true, Parse: p.storage},
		"sweep_interval":  subdirective.Duration(d, "sweep_interval", true, &h.SweepInterval),
	}}
	if err := b.Parse(d); err != nil {
		return err
	}
	if len(h.Zones) == 0 && len(h.Allow) == 0 && len(h.Deny) == 0 {
		return directive.Errf("%s has nothing to do: use a zone, `allow` or `deny`", name)
	}
	return nil
}

// The usage of subdirectives that the directive and the global defaults share.
const (
	headersUsage = "headers x | draft | all | none"
	rejectUsage  = "reject json | problem | error"
)

// zone parses a zone into the handler. As in caddy-ratelimit, the last zone of a name wins in that
// plugin's syntax.
func (p *directiveParser) zone(args []string) error {
	name, place := args[0], subdirective.Here(p.Dispenser)
	z, err := p.parseZone(name)
	if err != nil {
		return err
	}
	if earlier, found := p.h.Zones[name]; found && !(earlier.legacy() && z.legacy()) {
		return place.Errf("zone %q is already specified at %s: use it once, or another name",
			name, placeOf(p.zones[name]))
	}
	if p.h.Zones == nil {
		p.h.Zones = make(map[string]*Zone)
	}
	p.h.Zones[name], p.zones[name] = z, place
	return nil
}

// A definedZone is a zone with the place of its definition.
type definedZone struct {
	*Zone
	place *caddyfile.Dispenser
}

// compareWithOthers checks that the handler's zones can share their counts with the zones of the
// same names in other directives.
func (p *directiveParser) compareWithOthers(state map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(p.h.Zones)) {
		if p.h.Zones[name].isUse() {
			continue
		}
		z, key := definedZone{p.h.Zones[name], p.zones[name]}, "rate_limit.zone."+name
		if other, found := state[key].(definedZone); found && !z.canShareCounts(other.Zone) {
			return z.place.Errf("zone %q is already defined at %s: use another name, or share the counts of one definition "+
				"by `zone %s {` in the global option rate_limit and `zone %s` in both directives",
				name, placeOf(other.place), name, name)
		}
		state[key] = z
	}
	return nil
}

// placeOf returns the file and line of the current token.
func placeOf(d *caddyfile.Dispenser) string {
	return fmt.Sprintf("%s:%d", cmp.Or(d.File(), "Caddyfile"), d.Line())
}

// addressesLine is a subdirective with client addresses, which it adds to list in canonical form.
func addressesLine(d *caddyfile.Dispenser, name string, list *[]string) subdirective.Line {
	l := subdirective.Line{Usage: name + " <ip|cidr|private_ranges...>", Min: 1, Max: subdirective.AnyNumber, Repeats: true}
	l.Parse = func(args []string) error {
		for _, arg := range args {
			if strings.HasPrefix(arg, "{env.") || strings.HasPrefix(arg, "{file.") {
				*list = append(*list, arg) // read when the configuration loads
				continue
			}
			if arg == "private_ranges" {
				for _, text := range caddyhttp.PrivateRangesCIDR() {
					r, err := caddyhttp.CIDRExpressionToPrefix(text)
					if err != nil {
						return d.WrapErr(err)
					}
					*list = append(*list, ipset.Format(r.Masked()))
				}
				continue
			}
			if strings.Contains(arg, ",") {
				return d.Errf("%q has a comma: use spaces between addresses", arg)
			}
			r, err := ipset.ParsePrefix(arg)
			if err != nil {
				return d.WrapErr(err)
			}
			*list = append(*list, ipset.Format(r))
		}
		return nil
	}
	return l
}

// jitter parses a percentage, or a fraction as in caddy-ratelimit.
func (p *directiveParser) jitter(args []string) (err error) {
	text, percent := strings.CutSuffix(args[0], "%")
	fraction, notNumber := strconv.ParseFloat(text, 64)
	if !percent && notNumber == nil && fraction >= 0 && fraction <= 1 {
		p.h.Jitter = Fraction(fraction)
		return nil
	}
	factor := !percent && notNumber == nil && fraction > 1
	if fraction, err = parsePercent(args[0]); err != nil {
		remedy := percentLike(args[0], "20%")
		if factor {
			remedy += ", because in caddy-ratelimit it is a factor: up to " + args[0] + " times the wait is added"
		}
		return p.Errf("jitter %q is not a percentage: use %s", args[0], remedy)
	}
	p.h.Jitter = Fraction(fraction)
	return nil
}

// distributed parses the intervals of distributed counting, which are optional.
func (p *directiveParser) distributed([]string) error {
	c, d := new(Distributed), p.Dispenser
	p.h.Distributed = c
	return subdirective.Block{Of: "distributed", Optional: true, MayBeEmpty: true, Lines: map[string]subdirective.Line{
		"read_interval":  subdirective.Duration(d, "read_interval", true, &c.ReadInterval),
		"write_interval": subdirective.Duration(d, "write_interval", true, &c.WriteInterval),
		"purge_age":      subdirective.Duration(d, "purge_age", true, &c.PurgeAge),
	}}.Parse(d)
}

// storage parses a storage module.
func (p *directiveParser) storage([]string) error {
	if !p.NextArg() {
		return p.Errf("wrong number of arguments: use `storage <module...>`")
	}
	id := "caddy.storage." + p.Val()
	module, err := caddyfile.UnmarshalModule(p.Dispenser, id)
	if err != nil {
		return err
	}
	storage, ok := module.(caddy.StorageConverter)
	if !ok {
		return p.Errf("module %s is not a storage: use a module in caddy.storage", id)
	}
	p.h.StorageRaw = caddyconfig.JSONModuleObject(storage, "module", module.(caddy.Module).CaddyModule().ID.Name(), nil)
	return nil
}

// Interface guard.
var _ caddyfile.Unmarshaler = (*Handler)(nil)
