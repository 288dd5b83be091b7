package fleetlimit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// compiledZone compiles a zone from its JSON configuration.
func compiledZone(t testing.TB, text string) *zone {
	t.Helper()
	c := new(config.Zone)
	if err := json.Unmarshal([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	z, err := new(zoneSet).newZone("api", c, zoneOptions{})
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
	if !z.legacy || !z.ambiguousIsMissing {
		t.Errorf("legacy = %v, ambiguous keys are missing = %v; want both", z.legacy, z.ambiguousIsMissing)
	}
	z = compiledZone(t, `{"key": "k", "window": "10s"}`)
	if r := z.configured.endpoints[0].rules[noTier]; !r.Block || r.Window != 10*time.Second {
		t.Errorf("rule without max_events: block = %v for %v, want a block for 10s", r.Block, r.Window)
	}
}

func TestWarningsNameThePlace(t *testing.T) {
	h, logs := scripted(t, `{"rate_limits": {"api": {"key": "{http.request.header.X-None}", "limit": "1/s", "place": "Caddyfile:7"}}}`,
		&scriptedStore{decision: limiter.Decision{OK: true}})
	if got := serve(t, h, t.Context(), nil); !got.admitted { // a request without a key
		t.Fatalf("the request was answered with %d, %v", got.status, got.err)
	}
	z := h.zones[0]
	logWarnings(h.logger, z, []error{errors.New("a mistake")})
	for _, message := range []string{"without a key", "probably not what was meant"} {
		lines := logs.FilterMessageSnippet(message).FilterField(zap.String("zone", "api")).FilterField(zap.String("place", "Caddyfile:7"))
		if lines.Len() != 1 {
			t.Errorf("lines with %q, the zone and its place = %d, want 1; all: %v", message, lines.Len(), logs.All())
		}
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
