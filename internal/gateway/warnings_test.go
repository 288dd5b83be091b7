package gateway

import (
	"errors"
	"testing"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestWarningsNameThePlace(t *testing.T) {
	h, logs := scripted(t, `{"rate_limits": {"api": {"key": "{http.request.header.X-None}", "limit": "1/s", "place": "Caddyfile:7"}}}`,
		&scriptedStore{decision: limiter.Decision{OK: true}})
	if got := serve(t, h, t.Context(), nil); !got.admitted { // a request without a key
		t.Fatalf("the request was answered with %d, %v", got.status, got.err)
	}
	z := h.requests.Zones[0]
	logWarnings(h.log.Logger, z, []error{errors.New("a mistake")})
	for _, message := range []string{"without a key", "probably not what was meant"} {
		lines := logs.FilterMessageSnippet(message).FilterField(zap.String("zone", "api")).FilterField(zap.String("place", "Caddyfile:7"))
		if lines.Len() != 1 {
			t.Errorf("lines with %q, the zone and its place = %d, want 1; all: %v", message, lines.Len(), logs.All())
		}
	}
}
