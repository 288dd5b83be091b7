package fleetlimit

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
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
	directive := here(p.Dispenser)
	p.zones = make(map[string]*caddyfile.Dispenser)
	b := block{of: "rate_limit", lines: map[string]line{
		"zone":            {usage: "zone <name> {", min: 1, max: 1, repeats: true, parse: p.zone},
		"allow":           p.addressesLine("allow", &p.h.Allow),
		"deny":            p.addressesLine("deny", &p.h.Deny),
		"headers":         headersLine(p.Dispenser, &p.h.Headers),
		"reject":          rejectLine(p.Dispenser, &p.h.Reject),
		"log_rejections":  {usage: "log_rejections first | all | none", min: 1, max: 1, parse: p.logRejections},
		"log_key":         {usage: "log_key", parse: flag(&p.h.LogKey)},
		"jitter":          {usage: "jitter <percent>", min: 1, max: 1, parse: p.jitter},
		"disable_metrics": {usage: "disable_metrics", parse: flag(&p.h.DisableMetrics)},
		"distributed":     {usage: "distributed [{ ... }]", parse: p.distributed},
		"storage":         {usage: "storage <module...>", raw: true, parse: p.storage},
		"sweep_interval":  durationLine(p.Dispenser, "sweep_interval", &p.h.SweepInterval),
	}}
	if _, err := b.read(p.Dispenser); err != nil {
		return err
	}
	if len(p.h.Zones) == 0 && len(p.h.Allow) == 0 && len(p.h.Deny) == 0 {
		return directive.Errf("rate_limit has nothing to do: add a zone, allow or deny")
	}
	return nil
}

// zone parses a zone into the handler.
func (p *directiveParser) zone(args []string) error {
	name, place := args[0], here(p.Dispenser)
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
func (p *directiveParser) addressesLine(name string, list *[]string) line {
	l := line{usage: name + " <ip|cidr|private_ranges...>", min: 1, max: anyNumber, repeats: true}
	l.parse = func(args []string) error {
		for _, arg := range args {
			if arg == "private_ranges" {
				*list = append(*list, privateRanges()...)
				continue
			}
			if strings.HasPrefix(arg, "{env.") || strings.HasPrefix(arg, "{file.") {
				*list = append(*list, arg) // read when the configuration loads
				continue
			}
			r, err := parseRange(arg)
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
	if _, err := parseLogWhich(args[0]); err != nil {
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
func headersLine(d *caddyfile.Dispenser, headers *string) line {
	return line{usage: "headers x | draft | all | none", min: 1, max: 1, parse: func(args []string) error {
		if _, err := parseHeaderSet(args[0]); err != nil {
			return d.WrapErr(err)
		}
		*headers = args[0]
		return nil
	}}
}

func rejectLine(d *caddyfile.Dispenser, reject *string) line {
	return line{usage: "reject json | problem | error", min: 1, max: 1, parse: func(args []string) error {
		if _, err := parseRejectStyle(args[0]); err != nil {
			return d.WrapErr(err)
		}
		*reject = args[0]
		return nil
	}}
}

// flag returns the parser of a subdirective that only needs to be there.
func flag(on *bool) func([]string) error {
	return func([]string) error {
		*on = true
		return nil
	}
}

// Interface guard.
var _ caddyfile.Unmarshaler = (*Handler)(nil)
