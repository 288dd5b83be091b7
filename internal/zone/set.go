package zone

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Set is the zones of a configuration, and what they have in common. The zero value has no
// zones and no defaults.
type Set struct {
	Defaults    config.Defaults
	SharedTiers map[string]*config.Tier   // that zones share
	Check       func(*limiter.Rule) error // refuses what the store cannot count; nil: it counts any rule
	CountFormat string                    // counts of another format have other numbers

	mu      sync.Mutex // guards the fields below
	zones   []*Zone
	first   map[string]*Zone // of each name
	ruleIDs map[uint32]string

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
	text := strings.Join(owner, "\x00")
	hash := fnv.New32a()
	hash.Write([]byte(text))
	id := hash.Sum32()
	s.mu.Lock()
	defer s.mu.Unlock()
	if other, found := s.ruleIDs[id]; found && other != text {
		return 0, fmt.Errorf("its counts would be mixed with those of %q, whose hash is equal: use another name",
			slices.Compact(strings.Split(other, "\x00")))
	}
	if s.ruleIDs == nil {
		s.ruleIDs = make(map[uint32]string)
	}
	s.ruleIDs[id] = text
	return id, nil
}
