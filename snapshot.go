package fleetlimit

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// A ruleSnapshot is a version of the rules, compiled for the zones of a set. It is immutable. A
// request reads one.
type ruleSnapshot struct {
	version *rules.Version

	set       *zoneSet
	zones     []*zoneRules // by zone.index
	addresses *addressEntries
}

// belongsTo reports whether s is about the zones of set.
func (s *ruleSnapshot) belongsTo(set *zoneSet) bool { return s.set == set }

// of returns the rules of z.
func (s *ruleSnapshot) of(z *zone) *zoneRules { return s.zones[z.index] }

// rulesOf returns a zone of a name and its rules. The zone exists.
func (s *ruleSnapshot) rulesOf(name string) (*zone, *zoneRules) {
	z := s.set.named(name)
	return z, s.of(z)
}

// leftOut says why some rules of a version are not in force: they do not fit the configuration.
type leftOut struct {
	zone *zone // nil: the rules are about no zone
	errs []error
}

// compile compiles a version. What it does not change is as in earlier, which may be nil.
func (s *zoneSet) compile(v *rules.Version, earlier *ruleSnapshot, now time.Time) (_ *ruleSnapshot, left []leftOut) {
	if compiled, left, ok := s.recompile(v, earlier, now); ok {
		return compiled, left
	}
	zones, changes := s.all(), changesOf(v.Document, now)
	compiled := &ruleSnapshot{set: s, version: v, zones: make([]*zoneRules, len(zones))}
	addresses, errs := newAddressEntries(v.Document.Access)
	compiled.addresses = addresses
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if s.named(name) == nil {
			errs = append(errs, fmt.Errorf("%s: %w", changes[name].about(), s.noZone(name)))
		}
	}
	left = append(left, leftOut{nil, errs})
	for i, z := range zones {
		c := z.configured
		if changes[z.name] != nil {
			was := z.configured
			if earlier != nil {
				was = earlier.of(z)
			}
			c, errs = z.compile(was, changes[z.name])
			left = append(left, leftOut{z, errs})
		}
		if compiled.zones[i] = c; c.compared != nil {
			z.usage.Comparisons.Used.Store(true)
		}
	}
	return compiled, left
}
