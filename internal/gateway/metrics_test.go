package gateway

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestMetricsByOutcome(t *testing.T) {
	const zone = "metrics-by-outcome"
	s := new(scriptedStore)
	h, _ := scripted(t, `{"log_rejections": "none", "rate_limits": {"`+zone+`": {
		"key": "{http.request.header.X-Api-Key}", "deny_keys": ["mallory"],
		"limit": {"events": 5, "window": "1m"}}}}`, s)
	for _, outcome := range []struct {
		decision limiter.Decision
		err      error
	}{
		{limiter.Decision{OK: true, Source: limiter.FromLease}, nil},
		{limiter.Decision{OK: true, Source: limiter.FromLease}, nil},
		{limiter.Decision{Source: limiter.FromRememberedDenial}, nil},
		{limiter.Decision{Source: limiter.FromOutage}, errStore},
		{limiter.Decision{OK: true, Source: limiter.FromLate}, errStore},
		{limiter.Decision{}, errStore},
	} {
		s.decision, s.err = outcome.decision, outcome.err
		serve(t, h, t.Context(), nil)
	}
	_ = h.ServeHTTP(newBenchWriter(), benchRequest("mallory"), handlerThatWritesNothing)
	_ = h.ServeHTTP(newBenchWriter(), benchRequest(""), handlerThatWritesNothing)

	got := gathered(t)
	for series, want := range map[string]float64{
		"decisions_total  admitted lease  " + zone: 2, "decisions_total  admitted store  " + zone: 0,
		"decisions_total  rejected remembered_denial  " + zone: 1, "decisions_total  rejected store  " + zone: 0,
		"decisions_total  degraded outage  " + zone: 2, "decisions_total  degraded late  " + zone: 1,
		"decisions_total  denied   " + zone: 1, "decisions_total  rejected outage  " + zone: 1,
		"missing_keys_total " + zone: 1, "requests_total  " + zone: 7, "declined_requests_total  " + zone: 2,
	} {
		if value, found := got[series]; !found || value != want {
			t.Errorf("%s = %v (found: %v), want %v", series, value, found, want)
		}
	}
}
