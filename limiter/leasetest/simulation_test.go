package leasetest

import (
	"flag"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A simulation is a fleet of nodes, each with a [lease.Store], and the store that lends to them. It
// runs in a synctest bubble.
//
// Its clock is the store's. Those of the nodes are set to something else. All clocks may skip time
// in which nothing happens.
type simulation struct {
	began   time.Time
	skipped atomic.Int64 // µs
	outage  atomic.Bool  // the store is in an outage, which all nodes know
	fault   fault        // see faults_test.go
	driver  sync.WaitGroup
	idle    chan arrival // goroutines that wait for takes

	mu     sync.Mutex // guards what follows; nothing that may send is called with it held
	rng    *rand.Rand
	coming *rand.Rand // of arrivals in tests: alone the goroutine of the test uses it
	checkedLimit
	second  *checkedLimit // of the same requests; nil: there is none
	keys    int           // of the limit
	nodes   []*simNode
	retired []*simNode
	members uint64 // how many nodes there ever were
	others  int    // further nodes of the fleet, which are not simulated
	fewest  int    // nodes that there were at a time
	store   *simStore
	checker *checker
	net     network
	trace   []traceLine
	tracing bool
	ended   bool // no more takes arrive
	queued  int  // takes that have waited for their turn

	onOutage limiter.OutageMode // of the limit

	alone  bool   // nodes request leases as if there were no others
	attack bool   // takes come in strikes
	order  *order // in which things happen at the same instant; nil: any
	greed  int64  // nodes want this multiple of what they expect to spend, soon if it is above 1
	steady bool   // a denial is remembered without jitter
	lag    int64  // µs until nodes know of another node, at most
	skew   int64  // µs by which their clocks are off, at most
	variety
}

// A network is what happens to messages on their way.
type network struct {
	delay, jitter           int64   // of each way, in µs
	loseRequest, loseAnswer float64 // probabilities
	late                    float64 // that either way takes up to a second
	regret                  float64 // that another limit denies the request
}

const (
	// callTime is after which a lender takes the outcome of a request for unknown, in µs.
	callTime = 1_000_000

	// heartbeat is after which all nodes know of a new one, in µs.
	heartbeat = 5_000_000
)

var simulationSeed = flag.Uint64("simulation.seed", 1, "of arrivals, delays and choices of nodes")

// inSimulation runs a test in a bubble, on a fleet in which nothing goes wrong and the store is 1.5
// ms away. Each run is the same: see order.
func inSimulation(t *testing.T, limit limiter.Rule, nodes, keys int, test func(t *testing.T, s *simulation)) {
	t.Helper()
	inSeededSimulation(t, *simulationSeed, limit, nodes, keys, test)
}

// inSeededSimulation is inSimulation with other arrivals, delays and choices of nodes.
func inSeededSimulation(t *testing.T, seed uint64, limit limiter.Rule, nodes, keys int, test func(t *testing.T, s *simulation)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(rand.New(rand.NewPCG(seed, 2)), limit, keys, fault{})
		s.coming = rand.New(rand.NewPCG(seed, 3))
		s.net, s.order = network{delay: 700, jitter: 100}, newOrder(seed)
		s.addNodes(nodes)
		go s.attend()
		test(t, s)
		s.close()
	})
}

// newSimulation returns a simulation without nodes.
func newSimulation(rng *rand.Rand, limit limiter.Rule, keys int, f fault) *simulation {
	limit.ID = 1
	s := &simulation{
		began: time.Now(), rng: rng, fault: f, checkedLimit: newCheckedLimit(limit), keys: keys, greed: 1, idle: make(chan arrival),
		onOutage: limiter.OutageClosed,
	}
	s.store = &simStore{simulation: s, incarnation: 1, ledgers: make(map[ledgerName]*Ledger)}
	s.checker = newChecker(s, keys)
	return s
}

func (s *simulation) now() limiter.Instant {
	return epoch + limiter.Instant(time.Since(s.began).Microseconds()+s.skipped.Load())
}

// skip has all clocks skip time.
func (s *simulation) skip(us int64) {
	synctest.Wait()
	s.skipped.Add(us)
}

func sleep[T int64 | limiter.Instant](us T) { sleepFor(time.Duration(us) * time.Microsecond) }

// sleepFor sleeps by the clock of the bubble.
func sleepFor(d time.Duration) { time.Sleep(d) }

// after calls do in us µs, with mu held.
func (s *simulation) after(us int64, do func()) {
	s.afterUnlocked(us, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		do()
	})
}

// way returns how long a message takes, in µs.
func (s *simulation) way() int64 {
	n := &s.net
	switch {
	case n.late > 0 && s.rng.Float64() < n.late:
		return s.rng.Int64N(callTime * 5 / 4)
	case n.jitter > 0:
		return n.delay + s.rng.Int64N(n.jitter)
	}
	return n.delay
}

// happens reports whether something of this probability happens.
func (s *simulation) happens(probability float64) bool {
	return probability > 0 && s.rng.Float64() < probability
}

// addNodes has nodes that have run for long.
func (s *simulation) addNodes(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fewest = n + s.others
	for range n {
		s.nodes = append(s.nodes, s.newNode(0, s.fewest))
	}
}

// setLimit changes the limit on all nodes.
func (s *simulation) setLimit(events, burst int64) {
	if s.limit.MaxWait > 0 { // what was promised under the earlier limit begins beside the later one
		return
	}
	changed := s.limit
	changed.Limit.Events, changed.Limit.Burst = max(1, events), burst
	if changed == s.limit {
		return
	}
	s.limit = changed
	s.rule = mustRule(s.limit)
	if s.rule.Capacity() > s.highest.Capacity() || events > s.highest.Limit.Events {
		s.highest = s.rule
	}
	for _, n := range s.nodes {
		n.useLimit()
	}
	s.checker.changes++
	s.tracef(allKeys, "the limit is %d per %v now, burst %d", s.rule.Limit.Events, s.rule.Limit.Window, s.rule.Limit.Burst)
}

// quiet lets requests under way end, and leases and backoffs expire.
func (s *simulation) quiet() {
	s.mu.Lock()
	s.net, s.ended = network{}, true
	s.mu.Unlock()
	sleep[int64](callTime + 300*ms)
	for range 4 {
		s.skip(6 * sec)
		sleep[int64](40 * ms)
	}
}

// close ends all nodes.
func (s *simulation) close() {
	s.driver.Wait()
	sleep[int64](2 * callTime) // no more is on its way
	if s.order != nil {
		close(s.order.stop)
	}
	for _, n := range s.nodes {
		n.store.Close()
	}
	close(s.idle)
}

// err returns what the checker has found.
func (s *simulation) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checker.err
}
