package fleetlimit

import (
	"encoding/json"
	"maps"
	"net/netip"
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
	httpcaddyfile.RegisterHandlerDirective("rate_limit", parseDirective)
	httpcaddyfile.RegisterDirectiveOrder("rate_limit", httpcaddyfile.Before, "basic_auth")
	httpcaddyfile.RegisterGlobalOption("rate_limit", parseGlobalOption)
}

// parseDirective parses the directive:
//
//	rate_limit [<matcher>] {
//		zone <name> {                               # name: 1 to 64 of A-Z, a-z, 0-9, _, . and -
//			match          @<name> | { <matchers> } # repeatable: any of them
//			key            <template>               # required: {http.request.header.X-Api-Key}, {client_ip}, static
//			on_missing_key <template> | skip | deny # default {client_ip}
//			ipv4_prefix    <bits>                   # default 32
//			ipv6_prefix    <bits>                   # default 64
//			limit          <rate>
//			algorithm      <algorithm>              # default token_bucket
//			mode           strict | lease           # default lease
//			max_overshoot  <percent>                # default 1%
//			tier [<placeholder>] [trusted] {
//				<tier> [<rate>] {                   # without a rate: that of the global tier; block optional
//					mode          strict | lease
//					max_overshoot <percent>
//				}
//				keys <glob...> <tier>               # repeatable; the first that matches the key decides
//				default <tier>                      # for an unknown or empty tier
//			}
//			endpoint [<METHOD>[,<METHOD>...]] <path> [<rate> [<algorithm>]] { # repeatable; block optional
//				limit         <rate>
//				algorithm     <algorithm>
//				cost          <n> | <placeholder> [trusted]
//				mode          strict | lease
//				max_overshoot <percent>
//				tier {
//					<tier> [<rate>] {               # a rate, a block, or both
//						mode          strict | lease
//						max_overshoot <percent>
//					}
//				}
//			}
//			cost           <n> | <placeholder> [trusted] # default 1
//			max_keys       <n>                      # default 1000000
//			allow_key      <glob...>                # repeatable; past this zone
//			deny_key       <glob...>                # repeatable; 403
//		}
//		allow          <ip|cidr|private_ranges...>  # repeatable; past all zones
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
//	<rate>       <events>/<window> [burst <n>] | unlimited | block
//	<window>     a duration, such as 10s, 1m or 24h, or a unit: s, m, h, d
//	<algorithm>  token_bucket | sliding_window_log | fixed_window | sliding_window [<subwindows>]
//
// The syntax of caddy-ratelimit is accepted too and means what it means there: a zone with
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

// UnmarshalCaddyfile parses the directive as parseDirective does, except that `match @<name>` is an error, as the names are
// not known here, and that tiers are not looked up in the global option.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	p := directiveParser{Dispenser: d, h: h}
	return p.parse()
}

// A directiveParser parses one directive into h.
type directiveParser struct {
	*caddyfile.Dispenser
	h     *Handler
	app   *App                                  // the global option; nil: not known
	named func() (caddy.ModuleMap, bool, error) // resolves the matcher named by the next argument; nil: cannot
	zones map[string]*caddyfile.Dispenser       // where each zone is defined
}

func (p *directiveParser) parse() error {
	p.Next() // the directive's name
	if p.NextArg() {
		return p.Errf("unexpected %q: say `rate_limit [<matcher>] {`; a matcher is *, a path that starts with "+
			"/, or @<name>", p.Val())
	}
	directive := subdirective.Here(p.Dispenser)
	p.zones = make(map[string]*caddyfile.Dispenser)
	b := subdirective.Block{Of: "rate_limit", Lines: map[string]subdirective.Line{
		"zone":            {Usage: "zone <name> {", Min: 1, Max: 1, Repeats: true, Parse: p.zone},
		"allow":           p.addressesLine("allow", &p.h.Allow),
		"deny":            p.addressesLine("deny", &p.h.Deny),
		"headers":         headersLine(p.Dispenser, &p.h.Headers),
		"reject":          rejectLine(p.Dispenser, &p.h.Reject),
		"log_rejections":  {Usage: "log_rejections first | all | none", Min: 1, Max: 1, Parse: p.logRejections},
		"log_key":         {Usage: "log_key", Parse: subdirective.Flag(&p.h.LogKey)},
		"jitter":          {Usage: "jitter <percent>", Min: 1, Max: 1, Parse: p.jitter},
		"disable_metrics": {Usage: "disable_metrics", Parse: subdirective.Flag(&p.h.DisableMetrics)},
		"distributed":     {Usage: "distributed [{ ... }]", Parse: p.distributed},
		"storage":         {Usage: "storage <module...>", Raw: true, Parse: p.storage},
		"sweep_interval":  subdirective.Duration(p.Dispenser, "sweep_interval", &p.h.SweepInterval),
	}}
	if _, err := b.Read(p.Dispenser); err != nil {
		return err
	}
	if len(p.h.Zones) == 0 && len(p.h.Allow) == 0 && len(p.h.Deny) == 0 {
		return directive.Errf("rate_limit has nothing to do: add a zone, allow or deny")
	}
	return nil
}

// zone parses a zone into the handler.
func (p *directiveParser) zone(args []string) error {
	name, place := args[0], subdirective.Here(p.Dispenser)
	z, err := p.parseZone(name)
	if err != nil {
		return err
	}
	if earlier, found := p.h.Zones[name]; found && !(earlier.legacy() && z.legacy()) {
		return definedTwice(name, p.zones[name], place)
	}
	if p.h.Zones == nil {
		p.h.Zones = make(map[string]*Zone)
	}
	p.h.Zones[name], p.zones[name] = z, place
	return nil
}

// addressesLine is a subdirective that says client addresses, which are added to list in canonical form.
func (p *directiveParser) addressesLine(name string, list *[]string) subdirective.Line {
	l := subdirective.Line{Usage: name + " <ip|cidr|private_ranges...>", Min: 1, Max: subdirective.AnyNumber, Repeats: true}
	l.Parse = func(args []string) error {
		for _, arg := range args {
			if arg == "private_ranges" {
				*list = append(*list, privateRanges()...)
				continue
			}
			if strings.HasPrefix(arg, "{env.") || strings.HasPrefix(arg, "{file.") {
				*list = append(*list, arg) // read when the configuration loads
				continue
			}
			r, err := ipset.ParsePrefix(arg)
			if err != nil {
				return p.WrapErr(err)
			}
			if r.IsSingleIP() {
				*list = append(*list, r.Addr().String())
			} else {
				*list = append(*list, r.String())
			}
		}
		return nil
	}
	return l
}

// privateRanges returns Caddy's private ranges, which it partly writes as an address with a prefix length, as ranges.
func privateRanges() []string {
	ranges := caddyhttp.PrivateRangesCIDR()
	for i, text := range ranges {
		if r, err := netip.ParsePrefix(text); err == nil {
			ranges[i] = r.Masked().String()
		}
	}
	return ranges
}

func (p *directiveParser) logRejections(args []string) error {
	if err := checkRejectionLog(args[0]); err != nil {
		return p.WrapErr(err)
	}
	p.h.LogRejections = args[0]
	return nil
}

// jitter parses a percentage, or a fraction as in caddy-ratelimit.
func (p *directiveParser) jitter(args []string) error {
	text, percent := strings.CutSuffix(args[0], "%")
	ofPercent, notPercent := parsePercent(text)
	fraction, notNumber := strconv.ParseFloat(text, 64)
	switch {
	case percent && notPercent == nil:
		p.h.Jitter = ofPercent
		return nil
	case !percent && notNumber == nil && fraction >= 0 && fraction <= 1:
		p.h.Jitter = fraction
		return nil
	case !percent && notPercent == nil:
		return p.Errf("jitter %s has no unit: say %s%%", text, text)
	}
	return p.Errf("jitter %q is not a percentage: say 0%% to 100%%, such as 20%%", args[0])
}

// headersLine and rejectLine are the subdirectives that the directive and the global defaults have in common.
func headersLine(d *caddyfile.Dispenser, headers *string) subdirective.Line {
	return subdirective.Line{Usage: "headers x | draft | all | none", Min: 1, Max: 1, Parse: func(args []string) error {
		if _, err := parseHeaderSet(args[0]); err != nil {
			return d.WrapErr(err)
		}
		*headers = args[0]
		return nil
	}}
}

func rejectLine(d *caddyfile.Dispenser, reject *string) subdirective.Line {
	return subdirective.Line{Usage: "reject json | problem | error", Min: 1, Max: 1, Parse: func(args []string) error {
		if err := checkRejectStyle(args[0]); err != nil {
			return d.WrapErr(err)
		}
		*reject = args[0]
		return nil
	}}
}

// Interface guard.
var _ caddyfile.Unmarshaler = (*Handler)(nil)

// zonesState is the key of the zones of a Caddyfile in the state of its adaptation.
const zonesState = "rate_limit.zones"

// definedZone is a zone with the place of its definition.
type definedZone struct {
	*Zone
	place *caddyfile.Dispenser
}

// compareWithOthers checks the handler's zones against those of the same name in other directives of the Caddyfile: they
// share their counts, so they must be the same. In the syntax of caddy-ratelimit they may differ, as there.
func (p *directiveParser) compareWithOthers(state map[string]any) error {
	all, found := state[zonesState].(map[string]definedZone)
	if !found {
		all = make(map[string]definedZone)
		state[zonesState] = all
	}
	for _, name := range slices.Sorted(maps.Keys(p.h.Zones)) {
		z := p.h.Zones[name]
		other, found := all[name]
		if found && !sameZone(z, other.Zone) && !(z.legacy() && other.legacy()) {
			return definedTwice(name, other.place, p.zones[name])
		}
		all[name] = definedZone{z, p.zones[name]}
	}
	return nil
}

// sameZone reports whether two zones can share their counts.
func sameZone(a, b *Zone) bool {
	x, errX := a.shared()
	y, errY := b.shared()
	return errX == nil && errY == nil && x == y
}

func definedTwice(name string, earlier, now *caddyfile.Dispenser) error {
	return now.Errf("zone %q is already defined at %s:%d: give one of the two another name, or, in two "+
		"directives, write both the same to share their counts", name, earlier.File(), earlier.Line())
}

// globalApp returns what the global option says, as far as zones are compiled with it.
func globalApp(helper httpcaddyfile.Helper) (*App, error) {
	app := &App{ruleIDs: make(map[uint32]string)}
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

// distributed parses the intervals of distributed counting; without a block, too, it is there.
func (p *directiveParser) distributed([]string) error {
	c := new(Distributed)
	p.h.Distributed = c
	if !subdirective.OpensBlock(p.Dispenser) {
		return nil
	}
	b := subdirective.Block{Of: "distributed", MayBeEmpty: true, Lines: map[string]subdirective.Line{
		"read_interval":  subdirective.Duration(p.Dispenser, "read_interval", &c.ReadInterval),
		"write_interval": subdirective.Duration(p.Dispenser, "write_interval", &c.WriteInterval),
		"purge_age":      subdirective.Duration(p.Dispenser, "purge_age", &c.PurgeAge),
	}}
	_, err := b.Read(p.Dispenser)
	return err
}

// storage parses a storage module.
func (p *directiveParser) storage([]string) error {
	if !p.NextArg() {
		return p.Errf("wrong number of arguments: say `storage <module...>`")
	}
	id := "caddy.storage." + p.Val()
	module, err := caddyfile.UnmarshalModule(p.Dispenser, id)
	if err != nil {
		return err
	}
	storage, ok := module.(caddy.StorageConverter)
	if !ok {
		return p.Errf("module %s is not a storage: say one of the modules of caddy.storage", id)
	}
	p.h.StorageRaw = caddyconfig.JSONModuleObject(storage, "module", module.(caddy.Module).CaddyModule().ID.Name(), nil)
	return nil
}
