package config

import (
	"fmt"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
)

// A Caddyfile has what the parsers need from the rest of a Caddyfile, outside of the block that
// they parse. The zero value has nothing.
type Caddyfile struct {
	// App has the settings of the global option. It is nil if they are not known.
	App *App

	// Matcher returns the matcher that the next argument names. It is nil if the names of matchers
	// cannot be resolved.
	Matcher func() (caddy.ModuleMap, bool, error)

	// CheckZone compiles a zone as provisioning will, and returns what is wrong with it. A parser
	// reports a [SettingError] at the line of that setting. If CheckZone is nil, zones are not
	// compiled.
	CheckZone func(name string, z *Zone) error

	// State is what the parsers of one Caddyfile share: the zones of its directives, and the tokens of
	// the files that import reads.
	State map[string]any
}

// ParseCaddyfile parses the directive rate_limit or rate_limit_authenticated. The two have the same
// grammar, but different places in Caddy's order of directives. docs/configure/grammar.md has the
// grammar.
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
func (h *Handler) ParseCaddyfile(d *caddyfile.Dispenser, rest Caddyfile) error {
	d.Next()
	name := d.Val()
	if d.NextArg() {
		return d.Errf("unexpected %q: use `%s [<matcher>] {`, where a matcher is *, a path that starts with "+
			"/, or @<name>", d.Val(), name)
	}
	directive := subdirective.Here(d)
	h.Place = placeOf(directive)
	zones := zonesParser{Dispenser: d, rest: rest}
	b := subdirective.Block{Of: name, Remedies: remedies["block rate_limit"], Lines: map[string]subdirective.Line{
		"zone":            {Usage: "zone <name> [{ ... }]", Min: 1, Max: 1, Repeats: true, Block: zones.parse},
		"allow":           addressesLine("allow", &h.Allow),
		"deny":            addressesLine("deny", &h.Deny),
		"headers":         wordLine("headers", &h.Headers),
		"reject":          wordLine("reject", &h.Reject),
		"log_rejections":  wordLine("log_rejections", &h.LogRejections),
		"log_key":         subdirective.Flag("log_key", &h.LogKey),
		"jitter":          jitterLine(&h.Jitter),
		"max_retry_after": maxRetryAfterLine(&h.MaxRetryAfter),
		"disable_metrics": subdirective.Flag("disable_metrics", &h.DisableMetrics),
		"distributed":     {Usage: "distributed [{ ... }]", Block: func([]string) error { return h.parseDistributed(d) }},
		"storage":         {Usage: "storage <module...>", Raw: true, Block: func([]string) error { return h.parseStorage(d) }},
		"sweep_interval":  subdirective.Duration("sweep_interval", true, &h.SweepInterval),
	}}
	if err := b.Parse(d); err != nil {
		return err
	}
	h.Zones = zones.zones
	if len(h.Zones) == 0 && len(h.Allow) == 0 && len(h.Deny) == 0 {
		return directive.Errf("%s has nothing to do: use a zone, `allow` or `deny`", name)
	}
	return zones.compareWithOthers()
}

// UnmarshalCaddyfile parses the directive as ParseCaddyfile does, but does not know the rest of the
// Caddyfile: `match @<name>` is an error, and zones are not compiled.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return h.ParseCaddyfile(d, Caddyfile{})
}

// addressesLine returns a subdirective that adds client addresses to list, in canonical form.
func addressesLine(name string, list *[]string) subdirective.Line {
	l := subdirective.Line{Usage: name + " <ip|cidr|private_ranges...>", Min: 1, Max: subdirective.AnyNumber, Repeats: true, Words: true}
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
						return err
					}
					*list = append(*list, ipset.Format(r.Masked()))
				}
				continue
			}
			if strings.Contains(arg, ",") {
				return fmt.Errorf("%q has a comma: use spaces between addresses", arg)
			}
			r, err := ipset.ParsePrefix(arg)
			if err != nil {
				return err
			}
			*list = append(*list, ipset.Format(r))
		}
		return nil
	}
	return l
}

// maxRetryAfterLine returns the subdirective with the longest wait that responses tell clients.
func maxRetryAfterLine(longest *caddy.Duration) subdirective.Line {
	return subdirective.Value("max_retry_after <duration>", 1, 1, longest, func(args []string) (caddy.Duration, error) {
		v, err := caddy.ParseDuration(args[0])
		if err != nil || !isMaxRetryAfter(v) {
			return 0, fmt.Errorf("max_retry_after is %q: use %s", args[0], maxRetryAfterRemedy)
		}
		return caddy.Duration(v), nil
	})
}

// parseDistributed parses the intervals of distributed counting, which are optional.
func (h *Handler) parseDistributed(d *caddyfile.Dispenser) error {
	c := new(Distributed)
	h.Distributed = c
	return subdirective.Block{Of: "distributed", Optional: true, MayBeEmpty: true, Lines: map[string]subdirective.Line{
		"read_interval":  subdirective.Duration("read_interval", true, &c.ReadInterval),
		"write_interval": subdirective.Duration("write_interval", true, &c.WriteInterval),
		"purge_age":      subdirective.Duration("purge_age", true, &c.PurgeAge),
	}}.Parse(d)
}

// parseStorage parses a storage module.
func (h *Handler) parseStorage(d *caddyfile.Dispenser) error {
	if !d.NextArg() {
		return d.Errf("wrong number of arguments: use `storage <module...>`")
	}
	id := "caddy.storage." + d.Val()
	module, err := caddyfile.UnmarshalModule(d, id)
	if err != nil {
		return err
	}
	storage, ok := module.(caddy.StorageConverter)
	if !ok {
		return d.Errf("module %s is not a storage: use a module in caddy.storage", id)
	}
	h.StorageRaw = caddyconfig.JSONModuleObject(storage, "module", module.(caddy.Module).CaddyModule().ID.Name(), nil)
	return nil
}

// Interface guard.
var _ caddyfile.Unmarshaler = (*Handler)(nil)
