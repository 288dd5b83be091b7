package zone

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// A Snapshot is a version of the rules, compiled for the zones of a set. It is immutable. A
// request reads one.
type Snapshot struct {
	Version *rules.Version

	set       *Set
	zones     []*zoneRules // by zone.index
	addresses *addressEntries
}

// Set returns the zones that s is about.
func (s *Snapshot) Set() *Set { return s.set }

// rulesFor returns the rules of z.
func (s *Snapshot) rulesFor(z *Zone) *zoneRules { return s.zones[z.index] }

// EntriesAbout returns the entries of the rules about a key of z, as requests have it, that are in
// force at now.
func (s *Snapshot) EntriesAbout(z *Zone, key []byte, now time.Time) map[*rules.Entry]bool {
	return s.rulesFor(z).keys.find(key).entriesAt(now)
}

// InDryRun reports whether z only observes a key, as requests have it.
func (s *Snapshot) InDryRun(z *Zone, key []byte) bool { return s.rulesFor(z).dryRun.Includes(key) }

// Compares returns for which fraction of its keys z compares limits with those in force. It reports
// false if z compares none.
func (s *Snapshot) Compares(z *Zone) (fraction float64, compares bool) {
	if c := s.rulesFor(z).compared; c != nil {
		return c.fraction, true
	}
	return 0, false
}

// LeftOut says why some rules of a version are not in force: they do not fit the configuration.
type LeftOut struct {
	Zone *Zone // nil if the rules are about no zone
	Errs []error
}

// LeftTexts says which rules are left out of a version, and why. The remedies are left out, as they
// list the zones of one configuration.
func LeftTexts(left []LeftOut) (texts []string) {
	texts = []string{}
	for _, l := range left {
		for _, err := range l.Errs {
			if l.Zone != nil {
				err = fmt.Errorf("zone %q: %w", l.Zone.Name, err)
			}
			text, _, _ := strings.Cut(err.Error(), ": use ")
			texts = append(texts, text)
		}
	}
	return texts
}

// Compile compiles a version. What it does not change is as in earlier, which may be nil.
func (s *Set) Compile(v *rules.Version, earlier *Snapshot, now time.Time) (_ *Snapshot, left []LeftOut) {
	if compiled, left, ok := s.recompile(v, earlier, now); ok {
		return compiled, left
	}
	zones, changes := s.All(), changesOf(v.Document, now)
	compiled := &Snapshot{set: s, Version: v, zones: make([]*zoneRules, len(zones))}
	addresses, errs := newAddressEntries(v.Document.Access)
	compiled.addresses = addresses
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if s.Named(name) == nil {
			errs = append(errs, fmt.Errorf("%s: %w", changes[name].description(), s.NoZone(name)))
		}
	}
	left = append(left, LeftOut{nil, errs})
	for i, z := range zones {
		c := z.configured
		if changes[z.Name] != nil {
			was := z.configured
			if earlier != nil {
				was = earlier.rulesFor(z)
			}
			c, errs = z.compile(was, changes[z.Name])
			left = append(left, LeftOut{z, errs})
		}
		if compiled.zones[i] = c; c.compared != nil {
			z.Usage.Comparisons.Used.Store(true)
		}
		if slices.ContainsFunc(c.endpoints, func(e endpointRules) bool { return e.concurrent != nil }) {
			z.Usage.Concurrent.Store(true)
		}
		if slices.ContainsFunc(c.endpoints, func(e endpointRules) bool { return e.wait.forTurn > 0 }) {
			z.Usage.Waits.Used.Store(true)
		}
	}
	return compiled, left
}
