package live

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// countOf has a distinct number for each outcome.
var countOf = map[string]uint64{
	api.Admitted: 1, api.Rejected: 2, api.Degraded: 4, api.Unavailable: 8, api.Allowed: 16,
	api.Denied: 32, api.WouldReject: 64, api.WouldDeny: 128, api.Overloaded: 256,
}

// zoneWithCounts returns the counters of a zone that has decided as countOf says.
func zoneWithCounts() *usage.ZoneCounters {
	z := &usage.ZoneCounters{Name: "z"}
	z.Counters("", "").Admitted[limiter.FromStore].Add(countOf[api.Admitted])
	z.Counters("", "").Rejected[limiter.FromRememberedDenial].Add(countOf[api.Rejected])
	z.Counters("", "").Outage[limiter.FromOutage].Add(countOf[api.Degraded])
	z.Counters("", "").Unavailable[limiter.FromOutage].Add(countOf[api.Unavailable])
	z.Counters("", "").WouldReject[limiter.FromStore].Add(countOf[api.WouldReject])
	z.Allowed.Add(countOf[api.Allowed])
	z.Denied.Add(countOf[api.Denied])
	z.WouldDeny.Add(countOf[api.WouldDeny])
	z.Overloaded.Add(countOf[api.Overloaded])
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
	again := read(&usage.ZoneCounters{}) // removed, and added again
	if got := again.ratesSince(&now, time.Second); got != (Rates{}) {
		t.Errorf("rates of counters that have started anew = %v, want 0", got)
	}
}
