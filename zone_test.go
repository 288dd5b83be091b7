package fleetlimit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// compiledZone compiles a zone from its JSON configuration.
func compiledZone(t *testing.T, config string) *zone {
	t.Helper()
	c := new(Zone)
	if err := json.Unmarshal([]byte(config), c); err != nil {
		t.Fatal(err)
	}
	z, err := newZone("api", c, new(App), nil)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestLegacyZone(t *testing.T) {
	z := compiledZone(t, `{"key": "{http.request.header.X-Api-Key}", "window": "10s", "max_events": 5}`)
	r := z.endpoints[0].rules[noTier]
	if got := r.Algorithm.Kind.String(); got != "sliding_window_log" || r.Limit.Events != 5 || r.Limit.Window != 10*time.Second {
		t.Errorf("rule = %s of %+v, want sliding_window_log of 5 per 10s", got, r.Limit)
	}
	if !z.legacy || !z.ambiguousIsMissing {
		t.Errorf("legacy = %v, ambiguous keys are missing = %v; want both", z.legacy, z.ambiguousIsMissing)
	}
	z = compiledZone(t, `{"key": "k", "window": "10s"}`)
	if r := z.endpoints[0].rules[noTier]; !r.block || r.window != 10*time.Second {
		t.Errorf("rule without max_events: block = %v for %v, want a block for 10s", r.block, r.window)
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
