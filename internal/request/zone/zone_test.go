package zone

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/rules"
)

// compiledZone compiles a zone from its JSON configuration.
func compiledZone(t testing.TB, text string) *Zone {
	t.Helper()
	c := new(config.Zone)
	if err := json.Unmarshal([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	z, err := new(Set).New("api", c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestLegacyZone(t *testing.T) {
	z := compiledZone(t, `{"key": "{http.request.header.X-Api-Key}", "window": "10s", "max_events": 5}`)
	r := z.configured.endpoints[0].rules[noTier]
	if got := r.Algorithm.Kind.String(); got != "sliding_window_log" || r.Limit.Events != 5 || r.Limit.Window != 10*time.Second {
		t.Errorf("rule = %s of %+v, want sliding_window_log of 5 per 10s", got, r.Limit)
	}
	if !z.Legacy || !z.ambiguousIsMissing {
		t.Errorf("legacy = %v, ambiguous keys are missing = %v; want both", z.Legacy, z.ambiguousIsMissing)
	}
	z = compiledZone(t, `{"key": "k", "window": "10s"}`)
	if r := z.configured.endpoints[0].rules[noTier]; !r.Block || r.Window != 10*time.Second {
		t.Errorf("rule without max_events: block = %v for %v, want a block for 10s", r.Block, r.Window)
	}
}

func TestValidateZoneName(t *testing.T) {
	for _, name := range []string{"a", "A-z_0.9", strings.Repeat("z", 64)} {
		if err := validateZoneName(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for _, name := range []string{"", "a b", "a/b", "é", "a\x00", strings.Repeat("z", 65)} {
		if validateZoneName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

// zonesInForce are zones with the rules that were put in force for them last.
type zonesInForce struct {
	*Set
	latest *Snapshot
}

// compiledZones compiles zones from their JSON configuration.
func compiledZones(t *testing.T, text string) *zonesInForce {
	t.Helper()
	settings := make(map[string]*config.Zone)
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		t.Fatal(err)
	}
	s := new(Set)
	for name, c := range settings {
		z, err := s.New(name, c, Options{Usage: new(usage.ZoneCounters)})
		if err != nil {
			t.Fatal(err)
		}
		s.Add(z)
	}
	return &zonesInForce{Set: s}
}

// put puts a document in force.
func (z *zonesInForce) put(t *testing.T, document string) *Snapshot {
	t.Helper()
	d := new(rules.Document)
	if err := json.Unmarshal([]byte(document), d); err != nil {
		t.Fatal(err)
	}
	z.latest, _ = z.Compile(&rules.Version{Document: d}, z.latest, time.Now())
	return z.latest
}
