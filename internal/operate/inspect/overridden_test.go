package inspect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/rules"
)

func TestOverridden(t *testing.T) {
	s := inForce(t, `{"user": {
		"key": "{http.request.header.X-Api-Key}", "limit": "100/1m",
		"tier": {"placeholder": "{http.auth.user.tier}", "tiers": {"pro": "1000/1m"}, "keys": [{"glob": "pro-*", "tier": "pro"}]},
		"endpoints": [{"path": "/search", "limit": "5/1s burst 10"}, {"path": "/cheap", "cost": 2}]}}`, `{"zones": {"user": {"limit": "200/1m"}},
		"overrides": [{"id": "o", "zone": "user", "key": "pro-a", "limit": "7/1m"}]}`)
	for _, tc := range []struct {
		override rules.Override
		want     []api.OverriddenLimit
	}{
		{overrideOf(rules.Override{Multiplier: 2}, "pro-a"), []api.OverriddenLimit{
			{Limit: "2000/1m", Was: "1000/1m"}, {Endpoint: "/search", Limit: "10/1s burst 20", Was: "5/1s burst 10"}}},
		{overrideOf(rules.Override{Limit: "3/1m"}, "a"), []api.OverriddenLimit{
			{Limit: "3/1m", Was: "200/1m"}, {Tier: "pro", Limit: "3/1m", Was: "1000/1m"},
			{Endpoint: "/search", Limit: "3/1m", Was: "5/1s burst 10"}, {Endpoint: "/search", Tier: "pro", Limit: "3/1m", Was: "5/1s burst 10"}}},
		{overrideOf(rules.Override{Multiplier: 3, Endpoint: "/search"}, "pro-a"), []api.OverriddenLimit{
			{Endpoint: "/search", Limit: "15/1s burst 30", Was: "5/1s burst 10"}}},
		{overrideOf(rules.Override{Concurrent: 3}, "a"), nil},
		{overrideOf(rules.Override{Multiplier: 3, Endpoint: "/gone"}, "a"), nil},
	} {
		if got := Overridden(s, &tc.override); !slices.Equal(got, tc.want) {
			t.Errorf("%+v:\n%+v, want\n%+v", tc.override, got, tc.want)
		}
	}
	if got := Overridden(s, &rules.Override{Key: rules.Key{Zone: "gone"}, Multiplier: 2}); got != nil {
		t.Errorf("limits of a zone that is not there = %s, want none", fmt.Sprint(got))
	}
}

// overrideOf returns o for a key of the zone "user".
func overrideOf(o rules.Override, key string) rules.Override {
	o.Zone, o.Text = "user", key
	return o
}
