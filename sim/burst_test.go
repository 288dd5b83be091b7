package sim

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Two keys send bursts every two minutes, one of n requests and one of twice as many, under a limit of
// 10 per minute.
func TestSuggestedBurst(t *testing.T) {
	for _, tc := range []struct {
		n       int
		burst   int64 // of the limit; 0 if it has none
		suggest bool
		want    int64 // 0 if no burst is suggested
	}{
		{n: 15, suggest: true, want: 15},
		{n: 10, suggest: true},           // the limit is enough
		{n: 500, suggest: true},          // no burst is enough
		{n: 15, suggest: true, burst: 5}, // the limit has a burst
		{n: 15},
	} {
		s, err := New(Options{
			Rule:         limiter.Rule{Limit: limiter.Limit{Events: 10, Window: time.Minute, Burst: tc.burst}},
			SuggestBurst: tc.suggest,
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range limiter.Instant(5) {
			for range tc.n {
				s.Add(Arrival{At: (1 + 120*i) * 1_000_000, Key: 0, Cost: 1})
			}
			for range 2 * tc.n { // the key that needs most may be rejected
				s.Add(Arrival{At: (1 + 120*i) * 1_000_000, Key: 1, Cost: 1})
			}
		}
		got := int64(0)
		if r := s.Report(10, func(Key) string { return "k" }); r.Burst != nil {
			got = r.Burst.Burst
		}
		if got != tc.want {
			t.Errorf("%+v: a burst of %d is suggested, want %d", tc, got, tc.want)
		}
	}
}
