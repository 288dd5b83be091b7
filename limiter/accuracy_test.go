package limiter

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// admitted returns how many of the events that come at arrivals a count of the algorithm a admits.
func admitted(t testing.TB, a Algorithm, l Limit, arrivals []Instant) (n int64) {
	r, c := mustRule(t, a, l), NewCount(a)
	for _, now := range arrivals {
		if c.Take(r, now, 1).OK {
			n++
		}
	}
	return n
}

// TestSlidingWindowAtSteadyLoad compares the counters with the exact log on random arrivals of a
// constant rate around the limit. They admit within 1 % of what the log admits.
func TestSlidingWindowAtSteadyLoad(t *testing.T) {
	limit := Limit{Events: 1000, Window: time.Minute}
	for _, load := range []float64{0.9, 1.1, 1.5, 3} { // times the limit
		rng := rand.New(rand.NewPCG(1, uint64(load*10)))
		var arrivals []Instant
		gap := float64(time.Minute.Microseconds()) / (load * float64(limit.Events))
		for now := Instant(600 * sec); now < 600*sec+60*60*sec; now += Instant(rng.ExpFloat64() * gap) {
			arrivals = append(arrivals, now)
		}
		exact := admitted(t, slidingWindowLog, limit, arrivals)
		for _, n := range []int{1, 2, 5, 60} {
			got := admitted(t, sliding(n), limit, arrivals)
			if off := math.Abs(float64(got-exact)) / float64(exact); off > 0.01 {
				t.Errorf("load %v, %d sub-windows: admitted = %d, want within 1 %% of %d, that of the log", load, n, got, exact)
			}
		}
	}
}

// TestMoreSubWindowsAreMoreAccurate sends traffic in bursts, and adds up by how much the counters
// differ from the exact log. A counter with more sub-windows differs less.
func TestMoreSubWindowsAreMoreAccurate(t *testing.T) {
	limit := Limit{Events: 1_000_000, Window: time.Minute} // so high that all counts admit all events
	parts := []int{1, 2, 5, 20, 60}
	counts := make([]Count, len(parts))
	for i, n := range parts {
		counts[i] = NewCount(sliding(n))
	}
	exact, exactRule := NewCount(slidingWindowLog), mustRule(t, slidingWindowLog, limit)
	rng := rand.New(rand.NewPCG(3, 4))
	off := make([]int64, len(parts))
	for now := Instant(600 * sec); now < 600*sec+3600*sec; now += Instant(rng.Int64N(2 * sec)) {
		burst := int64(1)
		if rng.IntN(30) == 0 {
			burst += rng.Int64N(500)
		}
		want := exact.Take(exactRule, now, burst).Remaining
		for i, n := range parts {
			got := counts[i].Take(mustRule(t, sliding(n), limit), now, burst).Remaining
			off[i] += max(got-want, want-got)
		}
	}
	for i := 1; i < len(parts); i++ {
		if off[i] >= off[i-1] {
			t.Errorf("distance from the log, %d sub-windows = %d, want less than %d, that of %d",
				parts[i], off[i], off[i-1], parts[i-1])
		}
	}
}
