package zone

import (
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/rules"
)

// Named returns the zone of a name, nil if there is none. Zones of one name have equal limits; any
// of them is returned.
func (s *Set) Named(name string) *Zone {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first[name]
}

// ZonesCalled returns the zones of a name: there may be one in several handlers.
func (s *Set) ZonesCalled(name string) (zones []*Zone) {
	for _, z := range s.All() {
		if z.Name == name {
			zones = append(zones, z)
		}
	}
	return zones
}

// Zones implements rules.Schema.
func (s *Set) Zones() (names []string) {
	for _, z := range s.All() {
		names = append(names, z.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Tiers implements rules.Schema.
func (s *Set) Tiers(zone string) []string {
	if z := s.Named(zone); z != nil && z.tiers != nil {
		return slices.Clone(z.tiers.names[1:])
	}
	return nil
}

// Endpoints implements rules.Schema.
func (s *Set) Endpoints(zone string) (names []string) {
	z := s.Named(zone)
	if z == nil {
		return nil
	}
	for i := range z.configured.endpoints {
		if e := &z.configured.endpoints[i]; e.route != nil {
			names = append(names, e.name())
		}
	}
	return names
}

// Limit implements rules.Schema.
func (s *Set) Limit(zone, endpoint, tier, text string) error {
	z := s.Named(zone)
	if z == nil {
		return s.NoZone(zone)
	}
	b := z.builder.copy(nil)
	if err := b.put(placedLimit{endpoint, tier, text}); err != nil {
		return err
	}
	_, err := b.endpoints()
	return err
}

// DryRun implements rules.Schema.
func (*Set) DryRun(text string) error {
	_, err := config.ParseShareOfKeys(text)
	return err
}

// Compare implements rules.Schema.
func (s *Set) Compare(zone string, with *rules.Comparison) error {
	z := s.Named(zone)
	if z == nil {
		return s.NoZone(zone)
	}
	b := z.builder.copy(nil)
	var err error
	if b.zone.Compare, err = config.ParseComparison(with.Keys, with.Limit, with.Algorithm); err != nil {
		return err
	}
	endpoints, err := b.endpoints()
	if err == nil {
		_, err = b.compare(&zoneRules{endpoints: endpoints})
	}
	return err
}

// Key implements rules.Schema.
func (s *Set) Key(key rules.Key) (shared bool, err error) {
	z := s.Named(key.Zone)
	if z == nil {
		return false, s.NoZone(key.Zone)
	}
	_, err = z.KeysOf(&key)
	return !key.Missing && len(z.Key.Placeholders()) == 0, err
}

// Canonical implements rules.Schema.
func (s *Set) Canonical(key rules.Key) rules.Key {
	if z := s.Named(key.Zone); z != nil {
		return z.canonical(key)
	}
	return key
}

// NoZone returns the error about a zone that does not exist.
func (s *Set) NoZone(name string) error {
	return fmt.Errorf("there is no zone %q: use one of %q", name, s.Zones())
}
