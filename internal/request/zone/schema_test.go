package zone

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fleetlimit/fleetlimit/rules"
)

// A schema has what the configuration has, as the errors of validation name it.
func TestRuleSchema(t *testing.T) {
	s := compiledZones(t, fmt.Sprintf(zoneForRules, "schema"))
	if got := s.Zones(); !slices.Equal(got, []string{"schema"}) {
		t.Errorf("zones = %q", got)
	}
	if got := s.Tiers("schema"); !slices.Equal(got, []string{"free", "pro"}) {
		t.Errorf("tiers = %q", got)
	}
	if got := s.Endpoints("schema"); !slices.Equal(got, []string{"GET /search*", "/fixed", "/other"}) {
		t.Errorf("endpoints = %q", got)
	}
	if s.Tiers("gone") != nil || s.Endpoints("gone") != nil {
		t.Error("a zone that does not exist has tiers or endpoints")
	}
	for _, tc := range []struct {
		zone, endpoint, text string
		ok                   bool
	}{
		{"schema", "", "9/1h", true}, {"schema", "/fixed", "9/1h", true}, {"schema", "", "9/1h burst 3", true},
		{"schema", "/fixed", "9/1h burst 3", false}, {"schema", "", "0/1h", false}, {"gone", "", "9/1h", false},
	} {
		if err := s.Limit(tc.zone, tc.endpoint, "", tc.text); (err == nil) != tc.ok {
			t.Errorf("limit %q of %q in %s: %v, want none: %v", tc.text, tc.endpoint, tc.zone, err, tc.ok)
		}
	}
	if _, err := s.Key(rules.Key{Zone: "gone", Text: "k"}); err == nil {
		t.Error("a key of a zone that does not exist is right")
	}
}
