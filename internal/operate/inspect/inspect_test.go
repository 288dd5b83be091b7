package inspect

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// inForce compiles zones from their JSON configuration, with a document of the rules.
func inForce(t *testing.T, zones, document string) *zone.Snapshot {
	t.Helper()
	settings, d := make(map[string]*config.Zone), new(rules.Document)
	if err := json.Unmarshal([]byte(zones), &settings); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(document), d); err != nil {
		t.Fatal(err)
	}
	set := new(zone.Set)
	for name, c := range settings {
		z, err := set.New(name, c, zone.Options{Usage: new(usage.ZoneCounters)})
		if err != nil {
			t.Fatal(err)
		}
		set.Add(z)
	}
	s, left := set.Compile(&rules.Version{Document: d}, nil, time.Now())
	for _, text := range zone.LeftTexts(left) {
		t.Fatal(text)
	}
	return s
}
