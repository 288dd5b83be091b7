package zone

import (
	"slices"
	"testing"
)

func TestZoneKnowsCredentials(t *testing.T) {
	z := compiledZone(t, `{
		"key": "{http.auth.user.id}-{http.vars.client_ip}", "on_missing_key": "{http.request.header.x-device}",
		"limit": {"events": 10, "window": "1m"}, "cost": {"placeholder": "{http.request.header.X-Cost}", "trusted": true},
		"endpoints": [{"path": "/a", "cost": {"placeholder": "{http.auth.user.cost}"}}],
		"tier": {"placeholder": "{http.request.header.X-Plan}", "trusted": true, "tiers": {"pro": {"unlimited": true}}}}`)
	want := []credential{
		{"http.auth.user.id", ""}, {"http.request.header.x-device", "X-Device"},
		{"http.request.header.X-Plan", "X-Plan"}, {"http.auth.user.cost", ""}, {"http.request.header.X-Cost", "X-Cost"},
	}
	if got := newCredentials(z.Placeholders()); !slices.Equal(got, want) {
		t.Errorf("credentials = %v, want %v", got, want)
	}
}
