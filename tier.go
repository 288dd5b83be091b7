package fleetlimit

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/fleetlimit/fleetlimit/internal/glob"
)

// noTier is the tier of keys that have none.
const noTier = 0

// A tierFinder finds the tier of a key. Tiers are numbered from 1 in the order of their names; a nil tierFinder has none.
type tierFinder struct {
	index    map[string]int // name -> tier
	names    []string       // tier -> name
	tiers    []*Tier        // tier -> what it is in the zone; it has a limit
	globs    []globTier     // in written order
	read     reader         // nil: no placeholder
	reads    string         // the placeholder's name
	fallback int            // for a key whose tier is unknown or empty
}

type globTier struct {
	globs glob.Set
	tier  int
}

// newTierFinder compiles config; shared are the app's tiers.
func newTierFinder(config *ZoneTier, shared map[string]*Tier) (*tierFinder, error) {
	if config == nil {
		return nil, nil
	}
	if config.Placeholder == "" && len(config.Keys) == 0 && config.Default == "" {
		return nil, fmt.Errorf("no key has a tier: say a placeholder, `keys` or `default`")
	}
	f := &tierFinder{index: make(map[string]int), names: []string{""}, tiers: []*Tier{nil}}
	for _, name := range slices.Sorted(maps.Keys(config.Tiers)) {
		tier := config.Tiers[name].over(shared[name])
		if !tier.limited() {
			return nil, fmt.Errorf("%q has no limit: say one here, or define `tier %s <rate>` in the global rate_limit option",
				name, name)
		}
		if err := tier.consistency().validate(); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		f.index[name] = len(f.names)
		f.names, f.tiers = append(f.names, name), append(f.tiers, tier)
	}
	for _, k := range config.Keys {
		tier, err := f.named(k.Tier)
		if err != nil {
			return nil, err
		}
		g, err := glob.Parse([]string{k.Glob})
		if err != nil {
			return nil, err
		}
		f.globs = append(f.globs, globTier{g, tier})
	}
	var err error
	if config.Default != "" {
		if f.fallback, err = f.named(config.Default); err != nil {
			return nil, err
		}
	}
	if config.Placeholder != "" {
		f.read, f.reads, err = trustedReader(config.Placeholder, config.Trusted)
	}
	return f, err
}

// limited reports whether t has a limit.
func (t *Tier) limited() bool { return t != nil && t.Limit != (Limit{}) }

// over returns t as a zone means it, given the app's tier of the same name: without a limit of its own it takes from that
// all that it does not say. Either may be nil.
func (t *Tier) over(shared *Tier) *Tier {
	if t == nil || shared == nil || t.limited() {
		return cmp.Or(t, shared)
	}
	e := t.consistency().over(shared.consistency())
	return &Tier{Limit: shared.Limit, Mode: e.mode, MaxOvershoot: e.maxOvershoot}
}

// consistency returns what t says of it; t may be nil.
func (t *Tier) consistency() consistency {
	if t == nil {
		return consistency{}
	}
	return consistency{t.Mode, t.MaxOvershoot}
}

// validate returns an error that says what to write instead when t does not make sense. Its limit may be left out.
func (t *Tier) validate() error {
	if t.limited() {
		if err := t.Limit.validate(); err != nil {
			return err
		}
	}
	return t.consistency().validate()
}

// named returns the tier called name.
func (f *tierFinder) named(name string) (int, error) {
	tier, found := f.index[name]
	if !found {
		return 0, fmt.Errorf("%q is not one of the zone's tiers (%s): add it to them", name, strings.Join(f.names[1:], ", "))
	}
	return tier, nil
}

// find returns the tier of a request whose key is written as key: that of the first pattern that matches the key, else the
// one that the placeholder names, else the default. has tells whether the placeholder, if it was read, is ambiguous.
func (f *tierFinder) find(key func() string, r *http.Request, repl *caddy.Replacer) (tier int, has presence) {
	if f == nil {
		return noTier, present
	}
	if len(f.globs) > 0 {
		text := key()
		for _, g := range f.globs {
			if g.globs.Match(text) {
				return g.tier, present
			}
		}
	}
	if f.read != nil {
		var name string
		name, has = f.read(r, repl)
		if tier, found := f.index[name]; found {
			return tier, has
		}
	}
	return f.fallback, has
}

// count returns how many rules a policy needs: one for each tier, and one for keys without.
func (f *tierFinder) count() int {
	if f == nil {
		return 1
	}
	return len(f.names)
}

// placeholders returns the names of the placeholders that f reads.
func (f *tierFinder) placeholders() []string {
	if f == nil || f.reads == "" {
		return nil
	}
	return []string{f.reads}
}

// trustedReader returns a reader of a placeholder that decides how much a request may do, and the placeholder's name. One
// that clients write must be marked as trusted.
func trustedReader(placeholder string, trusted bool) (reader, string, error) {
	if !trusted && clientControlled(placeholder) {
		return nil, "", fmt.Errorf("clients write the value of %s: add `trusted` if something in front guarantees it", placeholder)
	}
	read, err := newReader(placeholder)
	return read, strings.Trim(placeholder, "{}"), err
}
