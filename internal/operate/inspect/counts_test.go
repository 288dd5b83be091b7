package inspect

import (
	"slices"
	"testing"

	"github.com/fleetlimit/fleetlimit/rules"
)

// The counts of a key are those of its tier, and of the comparison, even if the limit blocks.
func TestCountsOf(t *testing.T) {
	s := inForce(t, `{"z": {"key": "{http.request.header.X-User}", "limit": "100/1m",
		"tier": {"keys": [{"glob": "pro_*", "tier": "pro"}], "tiers": {"pro": "200/1m"}},
		"compare": {"limit": "50/1m"}, "endpoints": [{"path": "/own", "limit": "7/1m"}, {"path": "/cost", "cost": 2}]}}`,
		`{"tiers": [{"id": "t", "zone": "z", "key": "a", "tier": "pro"}], "overrides": [
			{"id": "o", "zone": "z", "key": "b", "endpoint": "/own", "limit": "9/1m"},
			{"id": "p", "zone": "z", "key": "c", "limit": "block"}]}`)
	for _, tc := range []struct {
		key, endpoint string
		want          []int64 // the limits that count
	}{
		{"x", "", []int64{7, 100, 50}}, {"x", "/own", []int64{7}}, {"x", "/cost", nil}, {"x", "/gone", nil},
		{"pro_1", "", []int64{7, 200}}, {"a", "", []int64{7, 200}}, {"b", "", []int64{9, 100, 50}}, {"c", "", []int64{7, 100, 50}},
	} {
		counts, err := CountsOf(s, &KeyRef{Key: rules.Key{Zone: "z", Text: tc.key}}, tc.endpoint)
		var got []int64
		for _, c := range counts {
			got = append(got, c.Rule.Limit.Events)
		}
		if !slices.Equal(got, tc.want) || (err == nil) != (len(got) > 0) {
			t.Errorf("counts of %s at %q: limits %v, error %v; want %v", tc.key, tc.endpoint, got, err, tc.want)
		}
	}
}
