package zone

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Set is the zones of a configuration, and what they have in common. The zero value has no
// zones and no defaults.
type Set struct {
	Defaults    config.Defaults
	SharedTiers map[string]*config.Tier   // that zones share
	Check       func(*limiter.Rule) error // refuses what the store cannot count; nil if it counts any rule
	CountFormat string                    // counts of another format have other numbers

	mu     sync.Mutex // guards the fields below
	zones  []*Zone
	first  map[string]*Zone  // of each name
	owners map[uint32]uint32 // by rule ID: another hash of what the counts belong to

	templates map[templateSource]*keytemplate.Template // many zones have the same one
}

// A templateSource is what a template was compiled from.
type templateSource struct {
	raw     string
	options keytemplate.Options
}

// template compiles a key template, unless another zone has it.
func (s *Set) template(raw string, o keytemplate.Options) (*keytemplate.Template, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	source := templateSource{raw, o}
	if t := s.templates[source]; t != nil {
		return t, nil
	}
	t, err := keytemplate.Parse(raw, o)
	if err != nil {
		return nil, err
	}
	if s.templates == nil {
		s.templates = make(map[templateSource]*keytemplate.Template)
	}
	s.templates[source] = t
	return t, nil
}

// Add adds a zone of a handler.
func (s *Set) Add(z *Zone) {
	s.mu.Lock()
	defer s.mu.Unlock()
	z.index = len(s.zones)
	s.zones = append(s.zones, z)
	if s.first == nil {
		s.first = make(map[string]*Zone)
	}
	if s.first[z.Name] == nil {
		s.first[z.Name] = z
	}
}

// All returns the zones of all handlers that are provisioned.
func (s *Set) All() []*Zone {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.zones)
}

// ruleID returns the number of a rule's counts, which is the same on all nodes and in all
// configurations. owner is what the counts belong to: if any of it changes, they start at zero.
func (s *Set) ruleID(owner ...string) (uint32, error) {
	text := []byte(strings.Join(owner, "\x00"))
	short, long := fnv.New32a(), fnv.New64a()
	short.Write(text)
	long.Write(text)
	id, of := short.Sum32(), uint32(long.Sum64()>>32)
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, found := s.owners[id]; found && other != of {
		return 0, fmt.Errorf("its counts would be mixed with those of %s, whose hash is equal: use another name", s.ownerLocked(id))
	}
	if s.owners == nil {
		s.owners = make(map[uint32]uint32)
	}
	s.owners[id] = of
	return id, nil
}

// ownerLocked says what the counts with a number belong to. It needs s.mu.
func (s *Set) ownerLocked(id uint32) string {
	for _, z := range s.zones {
		for i := range z.configured.endpoints {
			if e := &z.configured.endpoints[i]; e.id == id || e.inFlightID == id {
				return strings.TrimSpace(fmt.Sprintf("zone %q %s", z.Name, e.name()))
			}
		}
	}
	return "another zone or endpoint"
}
