package inspect

import (
	"fmt"
	"testing"
)

// A plan has what changes of the limits in force, and apart from that what rules hide.
func TestPlan(t *testing.T) {
	const zones = `{"z": {"key": "{http.request.header.X-User}", "limit": "%s", "dry_run": %s, "concurrent": %d,
		"endpoints": [{"path": "/own", "limit": "%s"}, {"path": "/rest", "cost": 2}]}}`
	for _, tc := range []struct {
		document string
		want     string
	}{
		{`{}`, "[the rest of the zone: 11/1s token_bucket is now 12/1s token_bucket the rest of the zone: concurrent 3 is now " +
			"concurrent 4 /own: 5/1s token_bucket is now 6/1s token_bucket] 10% is now 20% []"},
		{`{"zones": {"z": {"limit": "9/1s", "dry_run": "5%"}}}`, "[the rest of the zone: concurrent 3 is now concurrent 4 " +
			"/own: 5/1s token_bucket is now 6/1s token_bucket]  " +
			"[the rest of the zone: 11/1s token_bucket is now 12/1s token_bucket dry_run: 10% is now 20%]"},
	} {
		before := inForce(t, fmt.Sprintf(zones, "11/1s", "0.1", 3, "5/1s"), tc.document)
		after := inForce(t, fmt.Sprintf(zones, "12/1s", "0.2", 4, "6/1s"), tc.document)
		z := Plan(before, after, "")[0]
		if got := fmt.Sprint(z.LimitTexts(), " ", z.DryRun, " ", z.Masked); got != tc.want || len(z.Reset) > 0 {
			t.Errorf("with rules %s, the plan is %s with resets %q, want %s", tc.document, got, z.Reset, tc.want)
		}
	}
}
