// Package zone compiles zones: what they say about a request.
//
// A [Set] has the zones of a configuration. It compiles each version of the rules to a [Snapshot],
// by which zones read requests. What a [Reading] finds is decided, counted and logged elsewhere:
// the package asks no store, and logs nothing. The table of the limits in force is
// [Snapshot.Slots]. What operators ask is answered from it in package inspect.
package zone

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/adaptive"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/text/glob"
	"github.com/fleetlimit/fleetlimit/internal/text/route"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Zone is a config.Zone, compiled.
type Zone struct {
	response.ZoneResponses // what its responses need

	Name        string
	Matchers    caddyhttp.MatcherSets
	matcherSets []matcherSet // the same, if they tell paths apart
	paths       pathUse      // whether it tells paths apart
	onOriginal  bool         // it does so by the path as the client has sent it
	reads       requestParts // by its matchers
	Key         *keytemplate.Template
	missing     missingKey

	ambiguousIsMissing bool                    // else it is an error
	cookieKey          *keytemplate.Template   // counts requests with an ambiguous cookie
	socketKey          *keytemplate.Template   // counts requests that have no client address
	Templates          []*keytemplate.Template // all that make keys, the likeliest first

	allow glob.Set
	deny  glob.Set

	Addresses *Addresses  // of the handler; never nil once it is provisioned
	tiers     *tierFinder // nil if there are no tiers
	dryRun    KeyShare

	// Adaptive limits the requests at once of all keys together. It is nil if nothing does.
	Adaptive *adaptive.Limiter

	// Hold is for how long requests hold their places.
	Hold Hold

	builder    *ruleBuilder
	configured *zoneRules // in force while there are no rules beside the configuration
	index      int        // in Set.zones and in Snapshot.zones

	watched atomic.Pointer[[]credential] // nil before Start
	unsure  []unsurePlaceholder          // placeholders that may not exist

	LogKey   bool    // operators may see the keys
	Place    string  // in the Caddyfile; "" if it is unknown
	Warnings []error // what is probably a mistake and yet loads
	Memory   string  // what bounds the keys that it remembers; empty: max_keys

	WarnedNoKey     atomic.Bool // about a missing key
	WarnedNoAddress atomic.Bool // about requests without a client address
}

// clientIP is the placeholder of the client's address as Caddy determines it.
const clientIP = "{http.vars.client_ip}"

// Options are what a zone has besides its settings. A zone without them is compiled only to find
// out what is wrong with it.
type Options struct {
	Usage     *usage.ZoneCounters
	Handle    limiter.Counts // of its rules
	Matchers  caddyhttp.MatcherSets
	Addresses *Addresses // of its handler
	LogKey    bool       // operators may see the keys
}

// New compiles settings. The zone is not in s yet.
func (s *Set) New(name string, settings *config.Zone, o Options) (*Zone, error) {
	if name == api.EmergencyZone {
		return nil, errors.New("emergency mode has this name: use another one")
	}
	z := &Zone{
		ZoneResponses: response.ZoneResponses{Usage: o.Usage, Legacy: settings.Legacy()},
		Name:          name, Matchers: o.Matchers, Addresses: o.Addresses, Place: settings.Place, LogKey: o.LogKey,
		builder: &ruleBuilder{set: s, handle: o.Handle, usage: o.Usage, name: name},
	}
	var err error
	if z.Legacy {
		if settings, err = config.FromLegacy(settings); err != nil {
			return nil, err
		}
	} else if err := validateZoneName(name); err != nil {
		return nil, err
	}
	if err := settings.CheckAdaptive(); err != nil {
		return nil, err
	}
	if settings.Key == "" && !z.Legacy && !settings.NeedsNoKey() {
		return nil, fmt.Errorf("no key: use `key`, such as %s", clientIP)
	}
	if err = z.compileKeys(settings); err != nil {
		return nil, err
	}
	if err = z.compileKeyLists(settings); err != nil {
		return nil, err
	}
	if z.tiers, err = newTierFinder(settings.Tier, s.SharedTiers); err != nil {
		return nil, config.ErrorIn("tier", fmt.Errorf("tier: %w", err))
	}
	if z.tiers != nil {
		z.Warnings = append(z.Warnings, z.tiers.warnings(settings.Limit)...)
		for _, k := range settings.Tier.Keys {
			z.warnAboutPattern(settings.Key, k.Glob)
		}
	}
	if err := z.CompileResponses(settings); err != nil {
		return nil, err
	}
	if z.Hold, err = newHold(settings); err != nil {
		return nil, err
	}
	if settings.DryRun < 0 || settings.DryRun > 1 {
		return nil, config.ErrorIn("dry_run",
			fmt.Errorf("dry_run is %v: use a fraction from 0 to 1, such as 0.1 for 10%%", settings.DryRun))
	}
	z.dryRun = NewKeyShare(float64(settings.DryRun), name)
	if err := config.CheckWord("on_path", settings.OnPath); err != nil {
		return nil, config.ErrorIn("on_path", err)
	}
	z.onOriginal = settings.OnPath == config.OriginalPath
	z.builder.zone, z.builder.tiers = settings, z.tiers
	endpoints, err := z.builder.endpoints()
	if err == nil && z.builder.boundMemory() {
		endpoints, err = z.builder.endpoints()
	}
	if err != nil {
		return nil, err
	}
	if err := z.builder.checkWaits(endpoints); err != nil {
		return nil, err
	}
	z.configured = &zoneRules{endpoints: endpoints, dryRun: z.dryRun}
	if z.configured.compared, err = z.builder.compare(z.configured); err != nil {
		return nil, config.ErrorIn("compare", fmt.Errorf("compare: %w", err))
	}
	z.builder.compiled = nil // the endpoints have them
	z.Memory = z.builder.memory
	z.Warnings = append(append(z.Warnings, z.builder.warnings...), z.compareWarnings(settings)...)
	z.usePaths()
	z.Adaptive = newAdaptive(settings.Adaptive, o.Usage)
	z.unsure = unsurePlaceholders(z.Placeholders())
	return z, nil
}

// Placeholders returns what decides about requests: those of the key and its substitute, of tier
// and costs.
func (z *Zone) Placeholders() []string {
	names := z.Key.Placeholders()
	if z.missing.key != nil {
		names = append(names, z.missing.key.Placeholders()...)
	}
	for _, p := range z.Deciders() {
		names = append(names, p.Name)
	}
	return names
}

// Settings returns what z was compiled from. A zone in the syntax of caddy-ratelimit has settings
// that mean the same in ours. They must not be changed.
func (z *Zone) Settings() *config.Zone { return z.builder.zone }

// Deciders returns the placeholders of tier and costs, which must not be the client's.
func (z *Zone) Deciders() (placeholders []*keytemplate.Placeholder) {
	if z.tiers != nil && z.tiers.placeholder != nil {
		placeholders = append(placeholders, z.tiers.placeholder)
	}
	for i := range z.configured.endpoints {
		e := &z.configured.endpoints[i]
		p := e.cost.placeholder
		if e.late != nil {
			p = e.late.Reserves()
		}
		if p != nil {
			placeholders = append(placeholders, p)
		}
	}
	return placeholders
}

// Handle returns what z has in its store.
func (z *Zone) Handle() limiter.Counts { return z.builder.handle }

// Routes returns the routes of the endpoints.
func (z *Zone) Routes() (all []*route.Route) {
	for i := range z.configured.endpoints {
		if r := z.configured.endpoints[i].route; r != nil {
			all = append(all, r)
		}
	}
	return all
}

// TierNames returns the names of the tiers, and the tier of keys whose own tier is unknown, or ""
// if such keys have none. There are no names if the zone has no tiers.
func (z *Zone) TierNames() (all []string, fallback string) {
	if z.tiers == nil {
		return nil, ""
	}
	return z.tiers.names[1:], z.tiers.name(z.tiers.fallback)
}

// compileKeys compiles the template of the key and its substitutes.
func (z *Zone) compileKeys(settings *config.Zone) (err error) {
	o, err := z.KeyOptions(settings)
	if err != nil {
		return err
	}
	if z.Key, err = z.parseKey(settings.Key, o); err != nil {
		return config.ErrorIn("key", fmt.Errorf("key: %w", err))
	}
	// An ambiguous cookie counts by the client's address even if requests without a key are skipped or
	// denied: browsers send such cookies, and the upstream may read a session from them.
	o.Substitute, o.Lenient = true, false
	if z.cookieKey, err = z.builder.set.template(clientIP, o); err != nil {
		return err
	}
	if z.socketKey, err = z.builder.set.template("", o); err != nil {
		return err
	}
	if err := config.CheckWord("on_ambiguous_key", settings.OnAmbiguousKey); err != nil {
		return config.ErrorIn("on_ambiguous_key", err)
	}
	z.ambiguousIsMissing = settings.OnAmbiguousKey == config.AmbiguousMissing || z.Legacy
	if z.missing, err = z.newMissingKey(settings, o); err == nil {
		err = z.checkMissingKey(settings)
	}
	z.Templates = slices.DeleteFunc([]*keytemplate.Template{z.Key, z.missing.key, z.cookieKey, z.socketKey},
		func(t *keytemplate.Template) bool { return t == nil })
	return config.ErrorIn("on_missing_key", err)
}

// KeyOptions returns how the templates of a zone with settings make keys.
func (z *Zone) KeyOptions(settings *config.Zone) (keytemplate.Options, error) {
	o := keytemplate.Options{
		IPv4Prefix: 32, IPv6Prefix: 64,
		MaskHeaders: !z.Legacy, Lenient: z.Legacy && settings.OnMissingKey == "",
	}
	if z.Legacy {
		o.IPv6Prefix = 128
	}
	for _, p := range []struct {
		family, most int
		set, bits    *int
	}{{4, 32, settings.IPv4Prefix, &o.IPv4Prefix}, {6, 128, settings.IPv6Prefix, &o.IPv6Prefix}} {
		switch {
		case p.set == nil:
		case *p.set == 0:
			name := fmt.Sprintf("ipv%d_prefix", p.family)
			return o, config.ErrorIn(name, fmt.Errorf("%s is 0, so all IPv%d clients would share one count: use 1 to %d",
				name, p.family, p.most))
		default:
			*p.bits, o.MaskAll = *p.set, true
		}
	}
	return o, nil
}

// parseKey compiles a template and refuses one that counts something else than it seems to.
func (z *Zone) parseKey(raw string, o keytemplate.Options) (*keytemplate.Template, error) {
	t, err := z.builder.set.template(raw, o)
	if err != nil {
		return nil, err
	}
	if warning := t.Warning(); warning != nil {
		z.Warnings = append(z.Warnings, warning)
	}
	return t, z.refuse(t.Check())
}

// validateZoneName refuses names that do not fit into headers and paths. Zones in the syntax of
// caddy-ratelimit may have any name.
func validateZoneName(name string) error {
	const valid = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
	if name == "" || len(name) > 64 || strings.Trim(name, valid) != "" {
		return fmt.Errorf("the name is not valid: use 1 to 64 of the characters A-Z, a-z, 0-9, _, . and -")
	}
	return nil
}

// refuse returns err, which a mistake in the configuration causes. In a zone in the syntax of
// caddy-ratelimit it becomes a warning: what loads there loads here.
func (z *Zone) refuse(err error) error {
	if err == nil || !z.Legacy {
		return err
	}
	z.Warnings = append(z.Warnings, err)
	return nil
}
