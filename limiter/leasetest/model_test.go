package leasetest

import (
	"cmp"
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/racetest"
)

var (
	modelRuns = flag.Int("model.runs", 100, "how many random fleets TestLeaseModel plays")
	modelSeed = flag.Uint64("model.seed", 0, "the first of their seeds")
)

// TestLeaseModel plays random fleets: nodes, keys, limits, arrivals, delays, losses, crashes and
// failovers, and in some of them what a variety says. The checker finds what exceeds the bound of
// the algorithm in any span, events that are spent, returned or debited twice, and whatever a node
// must not decide.
//
// A run with the same seed is the same: see order.
func TestLeaseModel(t *testing.T) {
	oneAtATime(t)
	runs := *modelRuns
	if testing.Short() || racetest.Enabled {
		runs = max(1, runs/5)
	}
	for seed := *modelSeed; seed < *modelSeed+uint64(runs); seed++ {
		if s := playRandomFleet(t, seed, fault{}); s.checker.err != nil {
			t.Fatalf("seed %d: %v; again: go test -run TestLeaseModel$ -model.seed %d -model.runs 1\n%s",
				seed, s.checker.err, seed, s.story())
		}
	}
}

// newRandomFleet returns a fleet in which a few things go wrong.
func newRandomFleet(seed uint64, f fault) *simulation {
	rng := rand.New(rand.NewPCG(seed, 4))
	events := int64(math.Exp(rng.Float64() * math.Log(400)))
	limit := limiter.Rule{
		Algorithm: oneOf(rng, bucket, bucket, log, fixed, sliding(1), sliding(oneOf(rng, 2, 5, 60))),
		Limit: limiter.Limit{
			Events: events,
			Window: oneOf(rng, 200*time.Millisecond, time.Second, time.Second, 3*time.Second, 10*time.Second),
		},
	}
	nodes := 1 + rng.IntN(8)
	if rng.IntN(10) == 0 { // leases last for 5 s then, and nodes that do nothing take time too
		limit.Limit.Window, nodes = time.Minute, min(nodes, 3)
	}
	if f.algorithm != nil {
		limit.Algorithm = *f.algorithm
	}
	if f.limit.Events > 0 {
		limit.Limit, nodes = f.limit, 8
	}
	if limit.Algorithm.Kind == limiter.TokenBucket {
		limit.Limit.Burst = cmp.Or(f.limit.Burst, oneOf(rng, 0, 0, 1+events/10, 3*events))
	}
	limit.MaxWait = f.maxWait
	v := varietyOf(seed, f)
	limit.Strict = v.strict
	s := newSimulation(rng, limit, oneOf(rng, 1, 1, 3), f)
	s.variety = v
	if v.second.Limit.Events > 0 {
		s.addSecond(v.second)
	}
	s.onOutage = oneOf(rng, limiter.OutageLocal, limiter.OutageLocal, limiter.OutageClosed)
	s.net = network{delay: oneOf[int64](rng, 0, 200, 1500, 5000), jitter: oneOf[int64](rng, 0, 500, 10_000)}
	if rng.IntN(5) == 0 { // around the timeout, or just below it
		s.net = network{delay: oneOf[int64](rng, 20*ms, 24*ms), jitter: oneOf[int64](rng, 500, 10*ms)}
	}
	s.greed = oneOf[int64](rng, 1, 1, 1, 20)
	s.alone = rng.IntN(2) == 0
	s.lag, s.skew, s.tracing, s.order = heartbeat, 1000*sec, true, newOrder(seed)
	s.tracef(allKeys, "%d nodes, %d keys, %+v, %+v, %v",
		nodes, s.keys, limit.Limit, limit.Algorithm, s.variety)
	s.addNodes(nodes)
	go s.attend()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disturb()
	s.vary()
	s.store.replicate()
	if f.prepare != nil {
		f.prepare(s)
	}
	return s
}

// disturb has things go wrong, of which few do at a time.
func (s *simulation) disturb() {
	rng, length := s.rng, int64(window(s.rule))
	if rng.IntN(2) == 0 {
		s.net.loseRequest = oneOf(rng, 0, 0.02, 0.3)
		s.net.loseAnswer = oneOf(rng, 0, 0.02, 0.3)
		s.net.late = oneOf(rng, 0, 0.05, 0.3)
	}
	s.net.regret = oneOf(rng, 0, 0, 0.05)
	s.checker.regrets = s.net.regret > 0 || s.second != nil
	// Requests that take longer than others bring takes of that long to the store at once.
	s.checker.calm = s.second == nil && s.net.loseRequest+s.net.loseAnswer+s.net.late+s.net.regret == 0 && s.net.delay < 10*ms &&
		s.rule.TimeFor(s.rule.Capacity()) > 4*(s.net.delay+s.net.jitter)
	if rng.IntN(4) == 0 {
		s.checker.calm = false
		for range 1 + rng.IntN(3) {
			s.after(rng.Int64N(4*length), func() {
				if !s.ended {
					s.nodes[rng.IntN(len(s.nodes))].crash()
				}
			})
		}
	}
	if rng.IntN(8) == 0 {
		s.checker.calm = false
		s.churn(max(float64(10*ms), float64(length)/float64(s.rule.Limit.Events)), 2*len(s.nodes))
	}
	if rng.IntN(4) == 0 {
		s.checker.calm = false
		lag := 1 + rng.Int64N(min(length, 300*ms))
		for range 1 + rng.IntN(2) {
			at := rng.Int64N(4 * length)
			s.after(max(0, at-lag), s.store.replicate)
			s.after(at, s.store.failOver)
		}
	}
	if rng.IntN(6) == 0 {
		s.checker.calm = false
		s.after(rng.Int64N(3*length), func() {
			if s.charges > 0 { // what is charged beyond twice a limit does not count under another one
				return
			}
			times, limit := oneOf(rng, 0.3, 0.9, 1.1, 3), s.limit.Limit
			burst := int64(times * float64(limit.Burst))
			if limit.Burst > 0 {
				burst = max(1, burst)
			}
			s.setLimit(int64(times*float64(limit.Events)), burst)
		})
	}
}

// play has takes arrive for some windows, lets it become quiet and checks what has happened.
func (s *simulation) play() {
	s.mu.Lock()
	windows := oneOf[int64](s.rng, 2, 4)
	if s.rule.Limit.Window == time.Minute {
		windows = 1
	}
	end := s.now() + limiter.Instant(windows)*window(s.rule)
	load := oneOf(s.rng, 0.3, 0.9, 1.1, 1.5, 4)
	for key := range s.keys {
		s.arrivals(key, load, end)
	}
	s.mu.Unlock()
	sleep(end - s.now())
	s.quiet()
	s.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checker.close()
}
