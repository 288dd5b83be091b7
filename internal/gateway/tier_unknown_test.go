package gateway

import (
	"slices"
	"strings"
	"testing"
)

// TestUnknownTierIsNotSilent has requests with tiers that their zone does not have. Each is logged
// once, and counted by the metric.
func TestUnknownTierIsNotSilent(t *testing.T) {
	h, logs := observed(t, `{"key": "static", "tier": {"placeholder": "{plan}", "default": "free",
		"tiers": {"free": "1/1h", "pro": "9/1h"}}}`)
	long := strings.Repeat("x", 600)
	for _, tier := range []string{"Pro", "Pro", "pro", "", "gold", long, long} {
		ask(t, h, "192.0.2.1:1", map[string]string{"plan": tier})
	}
	var warned []string
	for _, line := range logs.FilterMessageSnippet("is none of the zone's").All() {
		warned = append(warned, line.ContextMap()["tier_unknown"].(string))
	}
	if want := []string{"Pro", "gold", long[:512] + "..."}; !slices.Equal(warned, want) {
		t.Errorf("warned about %q, want %q", warned, want)
	}
	if got := h.requests.Zones[0].Usage.UnknownTiers.Load(); got != 5 {
		t.Errorf("unknown tiers = %d, want 5", got)
	}
}
