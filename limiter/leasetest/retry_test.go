package leasetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// latest is how much later than the store's retry instant a denial may tell clients to come, in µs.
const latest = 10 * ms

// TestNodesTellTheStoresRetry exhausts a key, and has takes arrive at all nodes until one is
// allowed. No lease is out and nothing is lost, so each denial tells the store's retry instant: it
// is never early, and less than 10 ms late.
func TestNodesTellTheStoresRetry(t *testing.T) {
	for _, a := range algorithms {
		limits := []limiter.Limit{{Events: 1000, Window: 10 * time.Second}, {Events: 10, Window: time.Second}}
		if a.Kind == limiter.TokenBucket { // without parts
			limits = []limiter.Limit{{Events: 10, Window: time.Second}, {Events: 1000, Window: time.Hour, Burst: 20}}
		}
		for _, limit := range limits {
			for _, nodes := range []int{1, 5, 20} {
				t.Run(fmt.Sprintf("%s/%d in %v/%d nodes", a.name, limit.Events, limit.Window, nodes), func(t *testing.T) {
					t.Parallel()
					inSimulation(t, limiter.Rule{Algorithm: a.Algorithm, Limit: limit}, 0, 1, func(t *testing.T, s *simulation) {
						s.skew = sec
						s.addNodes(nodes)
						if d := s.decideAt(t, s.nodes[0], s.rule.Capacity()); !d.OK {
							t.Errorf("take of the whole limit = %+v, want OK", d)
						}
						for rounds := 3; rounds > 0 && s.testRetry(t) && s.leasedUntil() <= s.now(); {
							rounds--
							sleep[int64](latest) // other nodes have not asked yet, and would tell of the event that is gone
						}
					})
				})
			}
		}
	}
}

// TestDeniedByPartsComeBack exhausts a bucket that has parts, and has a take come back to its node
// when it was told to, until it is allowed. Nodes decide by their parts for up to 2 seconds, so it
// may be allowed that much later than by the algorithm, or by the time in which an event accrues.
// It never comes in vain to a node that is alone, and to others a few times at most.
func TestDeniedByPartsComeBack(t *testing.T) {
	for _, limit := range []limiter.Limit{
		{Events: 1000, Window: 10 * time.Second}, {Events: 100, Window: time.Second}, {Events: 1000, Window: time.Minute, Burst: 50},
		{Events: 100, Window: time.Minute}, {Events: 1000, Window: time.Hour},
	} {
		for _, nodes := range []int{1, 5, 20} {
			t.Run(fmt.Sprintf("%d in %v, burst %d/%d nodes", limit.Events, limit.Window, limit.Burst, nodes), func(t *testing.T) {
				t.Parallel()
				inSimulation(t, limiter.Rule{Limit: limit}, 0, 1, func(t *testing.T, s *simulation) {
					s.skew = sec
					s.addNodes(nodes)
					s.testComeBack(t)
				})
			})
		}
	}
}

func (s *simulation) testComeBack(t *testing.T) {
	t.Helper()
	exact := NewLedger(bucket)
	lendOne(exact, 0, s.now(), limiter.LeaseRequest{Rule: s.rule, Need: s.rule.Capacity()})
	s.mu.Lock()
	all := limiter.LeaseRequest{Rule: s.rule, Key: []byte("0"), Need: s.rule.Capacity()}
	lendOne(s.store.ledger(&all), s.store.incarnation, s.now(), all)
	s.mu.Unlock()
	longest, most, rng := limiter.Instant(0), 0, rand.New(rand.NewPCG(1, 5))
	for range 100 {
		n, denials := s.nodes[rng.IntN(len(s.nodes))], 0
		allowed := lendOne(exact.Clone(), 0, s.now(), limiter.LeaseRequest{Rule: s.rule, Need: 1}).Decision.RetryAt
		for {
			d := s.decideAt(t, n, 1)
			if d.OK {
				break
			}
			denials++
			sleep(d.RetryAt - d.At)
		}
		lendOne(exact, 0, s.now(), limiter.LeaseRequest{Rule: s.rule, Need: 1})
		longest, most = max(longest, s.now()-allowed), max(most, denials-1)
	}
	vain := 3
	if len(s.nodes) == 1 {
		vain = 0
	}
	t.Logf("come in vain %d times at most, allowed %d ms late at most", most, longest/ms)
	if late := limiter.Instant(max(2*sec, s.rule.TimeFor(1)) + latest); longest > late || most > vain {
		t.Errorf("come in vain %d times, allowed %d µs late, want at most %d and %d", most, longest, vain, late)
	}
}

// testRetry has takes arrive at random nodes until one is allowed, and compares what the others are
// told. Those that come when the store would allow one may be told to wait, until their node asks.
// It reports whether all is right.
func (s *simulation) testRetry(t *testing.T) bool {
	t.Helper()
	exact := s.exactRetry()
	for {
		n := s.nodes[s.coming.IntN(len(s.nodes))]
		d := s.decideAt(t, n, 1)
		if d.OK {
			if s.now() < exact {
				t.Errorf("allowed %d µs before the store's retry instant", exact-s.now())
			}
			return s.now() >= exact
		}
		now := s.now()
		if late := now + d.RetryAt - d.At - max(exact, now); late < 0 || late >= latest {
			t.Errorf("%v, %d µs before the store's retry instant: denied until %d µs after it (%v), want 0 to %d",
				n, exact-now, late, d.Source, latest)
			return false
		}
		sleep(ms + limiter.Instant(s.coming.Int64N(int64(max(0, exact-now)/20+ms))))
	}
}

// decideAt has a node decide a take, past the checker.
func (s *simulation) decideAt(t *testing.T, n *simNode, cost int64) limiter.Decision {
	t.Helper()
	takes := []limiter.Take{{Rule: n.rule, Key: []byte("0"), Cost: cost}}
	if err := n.store.Take(t.Context(), n.clock(), takes); err != nil {
		t.Fatal(err)
	}
	return takes[0].Decision
}

// exactRetry returns the instant at which the store allows a take of one event, if none comes
// before.
func (s *simulation) exactRetry() limiter.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := limiter.LeaseRequest{Rule: s.rule, Key: []byte("0"), Need: 1}
	return lendOne(s.store.ledger(&l).Clone(), 0, s.now(), l).Decision.RetryAt
}

// leasedUntil returns when the last lease expires, by the store's clock.
func (s *simulation) leasedUntil() limiter.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.ledger(&limiter.LeaseRequest{Rule: s.rule, Key: []byte("0")}).count.leasedUntil()
}
