package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestClients has requests come at once under a limit of two in ten seconds.
func TestClients(t *testing.T) {
	rule := limiter.Rule{
		Algorithm: limiter.Algorithm{Kind: limiter.SlidingWindowLog}, Limit: limiter.Limit{Events: 2, Window: 10 * time.Second},
	}
	at := limiter.Instant(1_700_000_000_000_000)
	for _, test := range []struct {
		clients  Clients
		requests int
		want     Retries
		rejected int64
		last     time.Duration // of the last rejection
	}{
		{OpenClients, 10, Retries{}, 8, 0},
		// Two are served in each ten seconds, so eight wait first, then six, four and two.
		{RetryAfterClients, 10, Retries{Sent: 20, Served: 8, Most: 8}, 20, 30 * time.Second},
		// The last two of fourteen are rejected six times each.
		{RetryAfterClients, 14, Retries{Sent: 40, Served: 10, GaveUp: 2, Most: 12}, 42, 50 * time.Second},
		{HammeringClients, 3, Retries{Sent: 20, GaveUp: 1, Most: 1}, 21, 2 * time.Second},
	} {
		requests := slices.Repeat([]Arrival{{At: at, Cost: 1}}, test.requests)
		report := study(t, Options{Rule: rule, Candidates: []limiter.Limit{{Events: 1, Window: time.Hour}}, Clients: test.clients}, requests)
		got := report.Studied()
		if got.RequestsRejected != test.rejected || test.clients == OpenClients != (got.Retries == nil) || got.Retries != nil && *got.Retries != test.want {
			t.Errorf("%v, %d requests: %d rejected, %+v, want %d, %+v", test.clients, test.requests, got.RequestsRejected, got.Retries,
				test.rejected, test.want)
		}
		if last := report.Keys[0].Last.Sub(at.Time()); last != test.last {
			t.Errorf("%v, %d requests: the last rejection is after %v, want %v", test.clients, test.requests, last, test.last)
		}
		if report.Clients != test.clients.String() || report.Trace.Requests != int64(test.requests) {
			t.Errorf("report of %s and %d requests, want %v, %d", report.Clients, report.Trace.Requests, test.clients, test.requests)
		}
	}
	if _, err := ParseClients("polite"); err == nil {
		t.Error(`there are clients "polite"`)
	}
}
