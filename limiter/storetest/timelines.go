package storetest

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A moment is a take on a timeline and its expected decision. Instants count from start.
type moment struct {
	at        limiter.Instant
	cost      int64
	ok        bool
	remaining int64
	retryAt   limiter.Instant
	resetAt   limiter.Instant
}

// testTimelines follows one key under each algorithm through its windows. It takes at boundaries and a
// microsecond before them.
func testTimelines(t *testing.T, open opener) {
	for _, line := range []struct {
		name    string
		rule    limiter.Rule
		moments []moment
	}{
		{
			name: "token bucket of 2, one event per 10 s",
			rule: limiter.Rule{Limit: limiter.Limit{Events: 6, Window: time.Minute, Burst: 2}},
			moments: []moment{
				{0, 1, true, 1, 0, 10 * second},
				{0, 1, true, 0, 0, 20 * second},
				{0, 1, false, 0, 10 * second, 20 * second},
				{10*second - 1, 1, false, 0, 10 * second, 20 * second},
				{10 * second, 1, true, 0, 10 * second, 30 * second},
				{30*second - 1, 2, false, 1, 30 * second, 30 * second},
				{30 * second, 2, true, 0, 30 * second, 50 * second},
				{30 * second, 3, false, 0, limiter.Never, 50 * second},
				{minute, 1, true, 1, minute, minute + 10*second},
			},
		},
		{
			name: "token bucket of 7 events per minute, which accrue in no whole microseconds",
			rule: limiter.Rule{Limit: limiter.Limit{Events: 7, Window: time.Minute}},
			moments: []moment{
				{0, 7, true, 0, 0, minute},
				{0, 1, false, 0, 8_571_429, minute},
				{8_571_428, 1, false, 0, 8_571_429, minute},
				{8_571_429, 1, true, 0, 8_571_429, minute + 8_571_429},
				{17_142_857, 1, false, 0, 17_142_858, minute + 8_571_429},
				{17_142_858, 1, true, 0, 17_142_858, minute + 17_142_858},
			},
		},
		{
			name: "fixed window of 2 per minute, aligned to the minute",
			rule: limiter.Rule{
				Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow},
				Limit:     limiter.Limit{Events: 2, Window: time.Minute},
			},
			moments: []moment{
				{10 * second, 1, true, 1, 10 * second, minute},
				{minute - 1, 1, true, 0, minute - 1, minute},
				{minute - 1, 1, false, 0, minute, minute},
				{minute, 1, true, 1, minute, 2 * minute},
				{minute, 2, false, 1, 2 * minute, 2 * minute},
				{minute + 1, 1, true, 0, minute + 1, 2 * minute},
				{2*minute - 1, 1, false, 0, 2 * minute, 2 * minute},
				{3*minute + 1, 2, true, 0, 3*minute + 1, 4 * minute},
			},
		},
		{
			name: "sliding window log of 2 per minute",
			rule: limiter.Rule{
				Algorithm: limiter.Algorithm{Kind: limiter.SlidingWindowLog},
				Limit:     limiter.Limit{Events: 2, Window: time.Minute},
			},
			moments: []moment{
				{0, 1, true, 1, 0, minute},
				{30 * second, 1, true, 0, 30 * second, minute + 30*second},
				{30 * second, 1, false, 0, minute, minute + 30*second},
				{minute - 1, 1, false, 0, minute, minute + 30*second},
				{minute, 2, false, 1, minute + 30*second, minute + 30*second},
				{minute, 1, true, 0, minute, 2 * minute},
				{minute, 1, false, 0, minute + 30*second, 2 * minute},
				{minute + 30*second, 1, true, 0, minute + 30*second, 2*minute + 30*second},
			},
		},
		{
			name: "sliding window of 10 per minute, the window before weighed",
			rule: limiter.Rule{
				Algorithm: limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 1},
				Limit:     limiter.Limit{Events: 10, Window: time.Minute},
			},
			moments: []moment{
				{0, 10, true, 0, 0, 2 * minute},
				{0, 1, false, 0, minute + 6*second, 2 * minute},
				{minute, 1, false, 0, minute + 6*second, 2 * minute},
				{minute + 6*second - 1, 1, false, 0, minute + 6*second, 2 * minute},
				{minute + 6*second, 1, true, 0, minute + 6*second, 3 * minute},
				{minute + 30*second, 4, true, 0, minute + 30*second, 3 * minute},
			},
		},
		{
			name: "sliding window of 6 per minute in 3 sub-windows",
			rule: limiter.Rule{
				Algorithm: limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 3},
				Limit:     limiter.Limit{Events: 6, Window: time.Minute},
			},
			moments: []moment{
				{0, 3, true, 3, 0, 80 * second},
				{20 * second, 3, true, 0, 20 * second, 100 * second},
				{20 * second, 1, false, 0, minute + 6_666_667, 100 * second},
				{minute + 6_666_666, 1, false, 0, minute + 6_666_667, 100 * second},
				{minute + 6_666_667, 1, true, 0, minute + 6_666_667, 140 * second},
			},
		},
	} {
		t.Run(line.name, func(t *testing.T) {
			s, zones := open(t, zone)
			line.rule.ID, line.rule.Zone = 1, zones[zone]
			r, err := limiter.NewRule(line.rule)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range line.moments {
				got := take(t, s, start+m.at, r, "key", m.cost)
				want := limiter.Decision{
					OK: m.ok, At: start + m.at, Limit: r.Capacity(), Remaining: m.remaining,
					RetryAt: start + m.retryAt, ResetAt: start + m.resetAt,
				}
				if m.retryAt == limiter.Never {
					want.RetryAt = limiter.Never
				}
				got.Breach = false // Breach has a test of its own
				if got != want {
					t.Fatalf("take of %d at %s:\n got %+v\nwant %+v", m.cost, offset(start+m.at), got, want)
				}
			}
		})
	}
}
