//go:build !race

package leasetest

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// flows are those of TestTuneFalseDenials. The period of the bursts does not divide the windows, so
// that they meet all parts of them.
var flows = []flow{{name: "evenly"}, {name: "pinned", pinned: true}, {name: "bursts", period: 0.7 * sec}}

// A flow is how takes are spread over nodes and time.
type flow struct {
	name   string
	pinned bool  // all takes come to one node; else each comes to any
	period int64 // in µs; takes come in the first tenth of each; 0: at any time
}

// TestTuneFalseDenials measures how many takes are denied beyond those that the algorithm itself
// denies on the same arrivals, at 90 % of the limit. A limit of 44 a second is that of bench/fleet,
// and one at which chance alone exceeds it often.
func TestTuneFalseDenials(t *testing.T) {
	limits := rows([]limiter.Limit{{Events: 44, Window: time.Second}}, []limiter.Limit{
		{Events: 100, Window: time.Second}, {Events: 300, Window: time.Second}, {Events: 1000, Window: time.Second},
		{Events: 10_000, Window: time.Second}, {Events: 44, Window: time.Minute}, {Events: 1000, Window: time.Minute},
		{Events: 10_000, Window: time.Minute},
	})
	for _, test := range []struct {
		name string
		limiter.Algorithm
	}{
		{"bucket", bucket},
		{"log", log},
		{"sliding", sliding(1)},
		{"sliding-5", sliding(5)},
		{"sliding-60", sliding(60)},
		{"fixed", fixed},
	} {
		for _, limit := range limits {
			for _, f := range flows {
				for _, nodes := range rows([]int{15}, []int{2, 5}) {
					t.Run(fmt.Sprintf("%s/%d in %v/%s/%d nodes", test.name, limit.Events, limit.Window, f.name, nodes), func(t *testing.T) {
						t.Parallel()
						testFalseDenials(t, limiter.Rule{Algorithm: test.Algorithm, Limit: limit}, f, nodes)
					})
				}
			}
		}
	}
}

func testFalseDenials(t *testing.T, limit limiter.Rule, f flow, nodes int) {
	t.Helper()
	simulated := nodes
	if f.pinned {
		simulated = 1
	}
	inSimulation(t, limit, 0, 1, func(t *testing.T, s *simulation) {
		s.others = nodes - simulated
		s.addNodes(simulated)
		takes := int64(20_000)
		switch windows := int64(500 * time.Second / limit.Limit.Window); { // with fewer, a single lease would decide the share
		case *tuneAll:
			takes = 60_000
		case !f.pinned: // idle nodes take time too
			takes = min(takes, max(2, windows)*limit.Limit.Events)
		}
		sum := s.flood(f, takes, 0.9)
		if err := s.err(); err != nil {
			t.Fatal(err)
		}
		share := float64(sum.denied+sum.failed-sum.exactDenied) / float64(sum.takes)
		t.Logf("%.3f %% denied that the algorithm admits, and %.3f %% with it; local %.0f %%",
			100*share, 100*float64(sum.exactDenied)/float64(sum.takes), 100*float64(sum.local)/float64(sum.takes))
		most := 0.001
		if limit.Algorithm.Kind == limiter.SlidingWindowLog { // leased events count until a window after their lease
			most = 0.005
		}
		if f.period > 0 && limit.Limit.Events > 100 { // the algorithm itself denies a sixth, and large leases are out then
			most = max(most, 0.003)
		}
		if share >= most {
			t.Errorf("falsely denied = %.4f of all takes, want less than %v", share, most)
		}
	})
}

// flood has takes arrive at random, at load times the limit, and returns what happened.
func (s *simulation) flood(f flow, takes int64, load float64) outcome {
	gap, busy, began := float64(window(s.rule))/(load*float64(s.rule.Limit.Events)), 0.0, s.now()
	for range takes {
		s.mu.Lock()
		n := s.nodes[0]
		if !f.pinned {
			n = s.nodes[s.coming.IntN(len(s.nodes))]
		}
		busy += s.coming.ExpFloat64() * gap
		next := began + limiter.Instant(f.at(int64(busy)))
		s.mu.Unlock()
		sleep(next - s.now())
		n.take(0, 1)
	}
	sleep[int64](100 * ms)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checker.sum()
}

// at returns when a take comes that would come at us if there were no bursts. Both are in µs since
// the beginning.
func (f flow) at(us int64) int64 {
	if f.period == 0 {
		return us
	}
	us, on := us/10, f.period/10
	return us/on*f.period + us%on
}

// TestTuneMovingTraffic has nine tenths of a limit of 10,000 arrive at ten nodes evenly, and a
// fifth at one node then: in which all that the others have leased is missing. It measures how many
// takes are denied beyond those that the algorithm itself denies on the same arrivals, as a
// fraction of the limit, and how long such takes are told to wait: until the last lease expires.
func TestTuneMovingTraffic(t *testing.T) {
	for _, a := range []struct {
		name string
		limiter.Algorithm
		window time.Duration
	}{
		{"bucket", bucket, time.Minute},
		{"log", log, time.Minute},
		{"log of an hour", log, time.Hour},
		{"sliding", sliding(1), time.Minute},
		{"sliding-60", sliding(60), time.Minute},
		{"fixed", fixed, time.Minute},
	} {
		for _, spread := range rows([]limiter.Instant{10 * sec}, []limiter.Instant{30 * sec}) {
			for _, moved := range rows([]limiter.Instant{sec}, []limiter.Instant{sec / 10, 5 * sec}) {
				t.Run(fmt.Sprintf("%s/9000 in %d s, 2000 in %.1f s", a.name, spread/sec, float64(moved)/sec), func(t *testing.T) {
					t.Parallel()
					limit := limiter.Rule{Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 10_000, Window: a.window}}
					inSimulation(t, limit, 10, 1, func(t *testing.T, s *simulation) {
						s.testMovingTraffic(t, spread, moved)
					})
				})
			}
		}
	}
}

// testMovingTraffic has 9000 takes arrive anywhere in a span of time, and then 2000 at one node.
func (s *simulation) testMovingTraffic(t *testing.T, spread, moved limiter.Instant) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 3))
	arrive := func(takes int, span limiter.Instant, nodes []*simNode) {
		began := s.now()
		instants := make([]float64, takes)
		for i := range instants {
			instants[i] = rng.Float64() * float64(span)
		}
		sort.Float64s(instants)
		for _, at := range instants {
			sleep(began + limiter.Instant(at) - s.now())
			nodes[rng.IntN(len(nodes))].take(0, 1)
		}
	}
	arrive(9000, spread, s.nodes)
	arrive(2000, moved, s.nodes[:1])
	sleep[int64](sec)
	if err := s.err(); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.checker.sum()
	share, wait := float64(sum.denied+sum.failed-sum.exactDenied)/float64(s.rule.Limit.Events), s.checker.outcomes[0].longestFalseWait
	t.Logf("falsely denied = %.2f %% of the limit, falsely told to wait for %.1f s at most, local %.0f %%, requests per 1000 takes %.0f",
		100*share, float64(wait)/sec, 100*float64(sum.local)/float64(sum.takes), 1000*float64(sum.requests)/float64(sum.takes))
	most := 0.02
	switch s.rule.Algorithm.Kind {
	case limiter.FixedWindow, limiter.SlidingWindow: // a lease may be half of what is left
		most = 0.05
	}
	if share > most {
		t.Errorf("falsely denied = %.4f of the limit, want at most %v", share, most)
	}
	if most := int64(2*maxLease + maxJitter); wait > most {
		t.Errorf("falsely told to wait for %d µs, want at most %d, when the last lease has expired", wait, most)
	}
}

// maxJitter is how much longer than a lease a denial is remembered at most, in µs.
const maxJitter = 5_000
