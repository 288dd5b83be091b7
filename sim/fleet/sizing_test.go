package fleet

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// TestCallsOfAKey checks the rule in docs/operate/sizing.md for a key at half of its limit. The calls
// per second are the lower of two numbers: the rate of the key, and the sum of the calls of all nodes
// that get its requests.
func TestCallsOfAKey(t *testing.T) {
	const length = 10 * time.Minute
	for _, test := range []struct {
		rate    int // requests of the key per second
		window  time.Duration
		nodes   int
		spread  Spread
		perNode float64 // calls per second of each node that gets requests of the key
	}{
		{50, time.Second, 100, Sticky, 7},
		{50, time.Second, 4, Even, 2},
		{100, time.Second, 4, Even, 2},
		{2, time.Second, 4, Even, 2},
		{100, time.Second, 20, Even, 0.8},
		{100, time.Second, 100, Even, 0.8},
		{1, time.Minute, 100, Sticky, 0.12},
		{10, time.Minute, 20, Sticky, 0.12},
		{100, time.Minute, 100, Sticky, 0.12},
		{10, time.Minute, 4, Even, 0.03},
		{100, time.Minute, 4, Even, 0.03},
		{10, time.Minute, 20, Even, 0.02},
		{100, time.Minute, 20, Even, 0.02},
		{100, time.Minute, 100, Even, 0.02},
		{10, time.Hour, 100, Sticky, 0.04},
		{100, time.Hour, 100, Sticky, 0.04},
		{10, time.Hour, 4, Even, 0.04},
		{100, time.Hour, 4, Even, 0.04},
		{10, time.Hour, 20, Even, 0.03},
		{100, time.Hour, 20, Even, 0.03},
		{100, time.Hour, 100, Even, 0.03},
	} {
		t.Run(fmt.Sprint(test.rate, " per second, ", test.window, ", ", test.nodes, " nodes, ", test.spread), func(t *testing.T) {
			t.Parallel()
			events := int64(2*test.rate) * int64(test.window/time.Second)
			f, err := New(Options{
				Rule: limiter.Rule{Limit: limiter.Limit{Events: events, Window: test.window}}, Nodes: test.nodes,
				RoundTrip: time.Millisecond, Spread: test.spread,
			}, None)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			rng := rand.New(rand.NewPCG(1, 2))
			begin := limiter.Instant(1_800_000_000_000_000)
			for at := begin; at < begin+limiter.Instant(length.Microseconds()); {
				f.Add(sim.Arrival{At: at, Cost: 1})
				at += limiter.Instant(rng.ExpFloat64() * 1e6 / float64(test.rate))
			}
			got := f.Outcome().CallsPer1000 / 1000 * float64(test.rate)
			reached := test.nodes
			if test.spread == Sticky {
				reached = 1
			}
			want := min(float64(test.rate), float64(reached)*test.perNode)
			if got > 1.25*want || got < 0.6*want {
				t.Errorf("%.3f calls per second, want about %.3f", got, want)
			}
		})
	}
}
