package zone

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/text/glob"
)

// noTier is the tier of keys that have none.
const noTier = 0

// A tierFinder finds the tier of a key. Tiers are numbered from 1 in the order of their names. A
// nil tierFinder has no tiers.
type tierFinder struct {
	names       []string                 // tier -> name
	tiers       []*config.Tier           // tier -> its limit in the zone
	globs       []globTier               // in configured order
	placeholder *keytemplate.Placeholder // nil if there is none
	fallback    int                      // for a key whose tier is unknown or empty
}

type globTier struct {
	globs glob.Set
	tier  int
}

// newTierFinder compiles config. shared are the app's tiers.
func newTierFinder(settings *config.ZoneTier, shared map[string]*config.Tier) (*tierFinder, error) {
	if settings == nil {
		return nil, nil
	}
	if settings.Placeholder == "" && len(settings.Keys) == 0 && settings.Default == "" {
		return nil, fmt.Errorf("no key has a tier: use a placeholder, `keys` or `default`")
	}
	if len(settings.Tiers) == 0 {
		return nil, fmt.Errorf("there are no tiers: use at least one with its limit, such as `free 100/1m`")
	}
	if err := config.CheckTierNames(settings.Tiers); err != nil {
		return nil, err
	}
	f := &tierFinder{names: []string{""}, tiers: []*config.Tier{nil}}
	for _, name := range slices.Sorted(maps.Keys(settings.Tiers)) {
		tier := settings.Tiers[name].WithLimitOf(shared[name])
		if !tier.Limited() {
			return nil, fmt.Errorf("%q has no limit: use one here, or `tier %s <rate>` in the global rate_limit option",
				name, name)
		}
		if err := cmp.Or(tier.CheckEnforcement(), config.CheckConcurrent(tier.Concurrent)); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		f.names, f.tiers = append(f.names, name), append(f.tiers, tier)
	}
	if err := f.compileKeys(settings.Keys); err != nil {
		return nil, err
	}
	var err error
	if settings.Default != "" {
		if f.fallback, err = f.named(settings.Default); err != nil {
			return nil, err
		}
	}
	if settings.Placeholder != "" {
		if f.placeholder, err = keytemplate.ParsePlaceholder(settings.Placeholder, settings.Trusted); err != nil {
			return nil, err
		}
	}
	return f, f.checkReachable()
}

// compileKeys compiles the patterns of keys. Each must match a key that those before it leave to
// it, unless it gives the same tier.
func (f *tierFinder) compileKeys(keys []config.KeyTier) error {
	earlier := make([]glob.Set, len(f.names)) // by tier
	for _, k := range keys {
		tier, err := f.named(k.Tier)
		if err != nil {
			return err
		}
		if err := glob.Check(k.Glob); err != nil {
			return fmt.Errorf("keys: %w", err)
		}
		g, err := glob.Parse([]string{k.Glob})
		if err != nil {
			return err
		}
		for other := range earlier {
			if by, covered := earlier[other].Covers(k.Glob); covered && other != tier {
				return fmt.Errorf("keys: no key gets %s from %s, because %s, which gives %s, matches them all first: use it "+
					"before that one", k.Tier, k.Glob, by, f.names[other])
			}
		}
		if err := earlier[tier].Add(k.Glob); err != nil {
			return err
		}
		f.globs = append(f.globs, globTier{g, tier})
	}
	return nil
}

// checkReachable returns an error if no key can ever have one of the tiers.
func (f *tierFinder) checkReachable() error {
	reached := map[int]bool{f.fallback: true}
	for _, g := range f.globs {
		reached[g.tier] = true
		if _, all := g.globs.Covers("*"); all && f.placeholder != nil {
			return fmt.Errorf("the placeholder is never read, because `keys *` gives each key a tier: use `default %s` instead",
				f.names[g.tier])
		} else if all && f.fallback != noTier && f.fallback != g.tier {
			return fmt.Errorf("no key gets the default, because `keys *` gives each key a tier: use only one of them")
		}
	}
	for tier, name := range f.names[1:] {
		if f.placeholder == nil && !reached[tier+1] {
			return fmt.Errorf("no key has %q: use `keys <glob...> %s`, `default %s` or a placeholder, or no such tier",
				name, name, name)
		}
	}
	return nil
}

// warnings returns what is probably a mistake in f. limit is that of the zone, which has f.
func (f *tierFinder) warnings(limit *config.Limit) (warnings []error) {
	if limit == nil || slices.Contains(f.all(), noTier) {
		return nil
	}
	return []error{errors.New("no request can reach the limit of the zone, because each key has a tier: use `limit` " +
		"without `default` in `tier`, or no `limit`")}
}

// named returns the tier called name.
func (f *tierFinder) named(name string) (int, error) {
	tier := slices.Index(f.names, name)
	if tier <= noTier {
		return 0, fmt.Errorf("%q is not a tier of the zone: use one of %v", name, f.names[1:])
	}
	return tier, nil
}

// numbered returns the tier called name, or else that of keys whose tier is unknown.
func (f *tierFinder) numbered(name string) int {
	if f == nil {
		return noTier
	}
	if tier := slices.Index(f.names, name); tier > noTier {
		return tier
	}
	return f.fallback
}

// A foundTier is the tier of a request.
type foundTier struct {
	tier     int
	presence keytemplate.Presence // of the placeholder; Present if it was not read
	unknown  string               // its value, if that is no tier of the zone
}

// find returns the tier of the first pattern that matches the key as text, else that which the
// placeholder names, else the default.
func (f *tierFinder) find(key func() string, r *http.Request, repl *caddy.Replacer) foundTier {
	if f == nil {
		return foundTier{tier: noTier}
	}
	if len(f.globs) > 0 {
		if tier := f.ofPattern(key()); tier != noTier {
			return foundTier{tier: tier}
		}
	}
	if f.placeholder == nil {
		return foundTier{tier: f.fallback}
	}
	name, presence := f.placeholder.Value(r, repl)
	if tier := slices.Index(f.names, name); tier > noTier {
		return foundTier{tier: tier}
	}
	return foundTier{f.fallback, presence, name}
}

// ofPattern returns the tier of the first pattern that matches the key as text, or noTier.
func (f *tierFinder) ofPattern(text string) int {
	for _, g := range f.globs {
		if g.globs.Match(text) {
			return g.tier
		}
	}
	return noTier
}

// TierByPattern returns the tier of the first pattern that matches a key as text, "" if none does.
func (z *Zone) TierByPattern(text string) string {
	if z.tiers == nil {
		return ""
	}
	return z.tiers.name(z.tiers.ofPattern(text))
}

// TierPlaceholder returns the placeholder that names the tiers of requests, nil if there is none.
func (z *Zone) TierPlaceholder() *keytemplate.Placeholder {
	if z.tiers == nil {
		return nil
	}
	return z.tiers.placeholder
}

// rules returns how many rules an endpoint needs: one for each tier, and one for keys without.
func (f *tierFinder) rules() int {
	if f == nil {
		return 1
	}
	return len(f.names)
}

// all returns the tiers that keys can have, noTier first if it is one of them.
func (f *tierFinder) all() []int {
	if f == nil {
		return []int{noTier}
	}
	var all []int
	if f.fallback == noTier && !f.matchesAll() {
		all = append(all, noTier)
	}
	for tier := range f.names[1:] {
		all = append(all, tier+1)
	}
	return all
}

// matchesAll reports whether a pattern matches each key.
func (f *tierFinder) matchesAll() bool {
	return slices.ContainsFunc(f.globs, func(g globTier) bool {
		_, all := g.globs.Covers("*")
		return all
	})
}

// name returns the name of a tier, "" for noTier and withoutKey.
func (f *tierFinder) name(tier int) string {
	if tier <= noTier {
		return ""
	}
	return f.names[tier]
}
