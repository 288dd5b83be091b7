package redisstore

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestFractionAcrossLimits changes the limit of a bucket that has accrued a fraction of an event.
// The fraction stays, for takes and for lease requests.
func TestFractionAcrossLimits(t *testing.T) {
	client := connect(t, standalone(t))
	const start, ms = limiter.Instant(1_800_000_000_000_000), 1000
	for _, test := range []struct {
		name     string
		from, to limiter.Limit
		after    limiter.Instant // after how long the second take finds the fraction
		want     limiter.Instant // after how long, from the second take, the next event has accrued
	}{
		{"slower", limiter.Limit{Events: 10, Window: time.Second}, limiter.Limit{Events: 1, Window: time.Second}, 190 * ms, 100 * ms},
		{"faster", limiter.Limit{Events: 1, Window: time.Second}, limiter.Limit{Events: 10, Window: time.Second}, 1090 * ms, 91 * ms},
		{"nearly as fast", limiter.Limit{Events: 1001, Window: time.Second}, limiter.Limit{Events: 1002, Window: time.Second}, 1498, 500},
		{"longest period", limiter.Limit{Events: 1, Window: 1 << 44 * time.Microsecond}, limiter.Limit{Events: 2, Window: time.Second},
			1<<43*3 - 2, 250_001},
	} {
		for _, leases := range []bool{false, true} {
			s := withClock(client)
			test.from.Burst, test.to.Burst = 2, 2
			from, to := mustRule(t, 1, limiter.Algorithm{}, test.from), mustRule(t, 1, limiter.Algorithm{}, test.to)
			takeAt := func(r *limiter.Rule, at limiter.Instant, cost int64) limiter.Decision {
				if leases {
					return lend(t, s, at, limiter.LeaseRequest{Rule: r, Need: cost}).Decision
				}
				takes := []limiter.Take{{Rule: r, Key: []byte("key"), Cost: cost}}
				if err := s.Take(t.Context(), at, takes); err != nil {
					t.Fatal(err)
				}
				return takes[0].Decision
			}
			at := start + test.after
			for _, d := range []limiter.Decision{takeAt(from, start, 2), takeAt(from, at, 1)} {
				if !d.OK || d.Remaining != 0 {
					t.Fatalf("%s (leases: %v): take = %+v, want OK with 0 remaining", test.name, leases, d)
				}
			}
			for _, step := range []struct {
				after limiter.Instant
				ok    bool
			}{{0, false}, {test.want - 1, false}, {test.want, true}} {
				d := takeAt(to, at+step.after, 1)
				if d.OK != step.ok || !d.OK && d.RetryAt != at+test.want {
					t.Errorf("%s (leases: %v): take %d µs after the change = %+v, want OK: %v, retry %d µs after it",
						test.name, leases, step.after, d, step.ok, test.want)
				}
			}
		}
	}
}
