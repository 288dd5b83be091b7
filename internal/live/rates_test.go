package live

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// countOf has a distinct number for each outcome.
var countOf = map[string]uint64{
	adminapi.Admitted: 1, adminapi.Rejected: 2, adminapi.Degraded: 4, adminapi.Unavailable: 8, adminapi.Allowed: 16,
	adminapi.Denied: 32, adminapi.WouldReject: 64, adminapi.WouldDeny: 128, adminapi.Overloaded: 256,
}

// zoneWithCounts returns the counters of a zone that has decided as countOf says.
func zoneWithCounts() *usage.Zone {
	z := &usage.Zone{Name: "z"}
	z.Counters("", "").Admitted[limiter.FromStore].Add(countOf[adminapi.Admitted])
	z.Counters("", "").Rejected[limiter.FromRememberedDenial].Add(countOf[adminapi.Rejected])
	z.Counters("", "").Outage[limiter.FromOutage].Add(countOf[adminapi.Degraded])
	z.Counters("", "").Unavailable[limiter.FromOutage].Add(countOf[adminapi.Unavailable])
	z.Counters("", "").WouldReject[limiter.FromStore].Add(countOf[adminapi.WouldReject])
	z.Allowed.Add(countOf[adminapi.Allowed])
	z.Denied.Add(countOf[adminapi.Denied])
	z.WouldDeny.Add(countOf[adminapi.WouldDeny])
	z.Overloaded.Add(countOf[adminapi.Overloaded])
	return z
}

func TestRates(t *testing.T) {
	z := zoneWithCounts()
	earlier := read(z)
	z.Counters("", "").Admitted[limiter.FromLease].Add(30)
	now := read(z)
	want := Rates{}
	want.Outcomes[0], want.Sources[limiter.FromLease] = 20, 20
	if got := now.ratesSince(&earlier, 1500*time.Millisecond); got != want {
		t.Errorf("rates = %v, want %v", got, want)
	}
	again := read(&usage.Zone{}) // gone, and come again
	if got := again.ratesSince(&now, time.Second); got != (Rates{}) {
		t.Errorf("rates of counters that have started anew = %v, want 0", got)
	}
}
