package leasetest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/test/racetest"
)

// decidedInOutage notes a decision by the outage mode.
func (c *checker) decidedInOutage(n *simNode, key int, take *limiter.Take) {
	k, d := &c.outcomes[key], &take.Decision
	c.tracef(key, "%v takes %d: %v, %d remain", n, take.Cost, asDecision{*d, n}, d.Remaining)
	switch {
	case !d.OK && take.Cost <= take.Rule.Capacity() && d.RetryAt <= d.At:
		c.failf(key, "%v: denied in an outage, retry at %d, which is not after %d", n, d.RetryAt, d.At)
	case !slices.Contains(c.nodes, n): // it leaves, and its store is closed
	case !c.outage.Load() && !n.key(key).overdue(c.now()-callTime, c.now()): // a request may have failed
		c.failf(key, "%v: decided by the outage mode, but there is no outage", n)
	case d.OK:
		k.inOutage += take.Cost
	}
}

// An outageRun is a fleet whose store answers, then is in an outage, and then answers again. All
// that is within one window, so that the store must know of all that was admitted in the end.
type outageRun struct {
	*simulation
	rng    *rand.Rand // of the load: that of the simulation is used at the same time
	skewed bool       // most takes arrive at one node

	admitted int64 // before the outage
}

// takes has n takes arrive within us µs.
func (o *outageRun) takes(n int, us int64) {
	for range n {
		node := o.nodes[o.rng.IntN(len(o.nodes))]
		if o.skewed && o.rng.IntN(5) > 0 {
			node = o.nodes[0]
		}
		node.take(0, 1+o.rng.Int64N(2))
		sleep(us / int64(n))
	}
}

// playOutage plays an outage, with the numbers of nodes, the loads and the algorithms of the seed.
func playOutage(seed uint64, f fault) error {
	rng := rand.New(rand.NewPCG(seed, 7))
	limit := limiter.Rule{
		Algorithm: algorithms[rng.IntN(len(algorithms))].Algorithm, Limit: limiter.Limit{Events: 20 + rng.Int64N(400), Window: time.Hour},
	}
	s := newSimulation(rng, limit, 1, f)
	s.net = network{delay: 700, jitter: 100}
	load := rand.New(rand.NewPCG(seed, 8))
	s.onOutage = limiter.OutageLocal
	s.addNodes(oneOf(load, 1, 4, 20))
	o, capacity := &outageRun{simulation: s, rng: load, skewed: load.IntN(2) == 0}, s.rule.Capacity()
	k := &s.checker.outcomes[0]
	o.takes(1+load.IntN(int(capacity)), 20*sec)
	sleep[int64](100 * ms) // no take waits
	o.begin(k)
	span := 1*sec + load.Int64N(20*sec)
	o.takes(1+load.IntN(2*int(capacity)), span)
	o.end(k, span)
	sleep[int64](3 * sec) // all debt is told
	o.takes(1+load.IntN(int(capacity)), 5*sec)
	s.quiet()
	o.checkUsed(k)
	s.close()
	return s.err()
}

func (o *outageRun) begin(k *outcome) {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.admitted = k.admitted
	o.outage.Store(true)
}

// end checks what was admitted in an outage of span µs.
func (o *outageRun) end(k *outcome, span int64) {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outage.Store(false)
	nodes, capacity := int64(len(o.nodes)), o.rule.Capacity()
	accrued := capacity*(span+sec)/int64(window(o.rule)) + 1
	if most := nodes*max(1, capacity/nodes) + accrued; k.inOutage > most {
		o.checker.failf(0, "admitted in an outage by %d nodes = %d, want at most %d", nodes, k.inOutage, most)
	}
	if o.rule.Algorithm.Kind == limiter.TokenBucket { // which has got events before the outage, too
		accrued = capacity*int64(o.now()-epoch+sec)/int64(window(o.rule)) + 1
	}
	if most := capacity + accrued; nodes == 1 && k.admitted+k.inOutage > most {
		o.checker.failf(0, "admitted before and in an outage by one node = %d + %d, want at most %d", k.admitted, k.inOutage, most)
	}
}

// checkUsed checks that the store knows of all that was admitted, once, and of nothing else but
// what was leased and did not come back.
func (o *outageRun) checkUsed(k *outcome) {
	requests := []limiter.LeaseRequest{{Rule: o.rule, Key: []byte("0")}}
	o.mu.Lock()
	defer o.mu.Unlock()
	ledger := o.store.ledger(&requests[0])
	unspent := -ledger.count.(*countedLending).accepted
	for _, n := range o.nodes {
		unspent += n.sums[0].granted - n.sums[0].spent
	}
	Lend(o.store.incarnation, o.now(), []*Ledger{ledger}, requests)
	capacity := o.rule.Capacity()
	used, admitted := capacity-requests[0].Decision.Remaining, k.admitted+k.inOutage
	least, most := min(capacity, admitted), min(capacity, admitted+max(0, unspent))
	if o.rule.Algorithm.Kind == limiter.TokenBucket {
		least -= capacity*int64(o.now()-epoch)/int64(window(o.rule)) + 1
	}
	if used < least || used > most {
		o.checker.failf(0, "used = %d of %d after an outage, want %d to %d: admitted were %d before, %d in it, %d after", used,
			capacity, least, most, o.admitted, k.inOutage, k.admitted-o.admitted)
	}
	var owed, settled uint64
	for _, n := range o.nodes {
		stats := n.store.Stats()
		owed, settled = owed+stats.Debt, settled+stats.DebtSettled
		if debt := stats.OutageDebt(); debt != 0 {
			o.checker.failf(0, "%v: %d events of the outage are still owed", n, debt)
		}
	}
	if o.fault.decide == nil && (owed != uint64(k.inOutage) || settled > owed) {
		o.checker.failf(0, "owed = %d, settled = %d, want all %d that were admitted in the outage, and no more settled", owed, settled, k.inOutage)
	}
}

func (f fault) playOutage(t *testing.T, seed uint64) (err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { err = playOutage(seed, f) })
	return err
}

// TestLeaseModelOutages plays outages: no more is admitted than the local buckets of all nodes hold
// and get, and the store hears of everything once.
func TestLeaseModelOutages(t *testing.T) {
	seeds := uint64(40)
	if racetest.Enabled {
		seeds = 5 // make test plays all of them without it
	}
	for seed := range seeds {
		if err := (fault{}).playOutage(t, seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// owesAlone reports whether a request has nothing but debt of an outage debited.
func owesAlone(l *limiter.LeaseRequest) bool { return l.Need == 0 && l.More > 0 }

var outageFaults = []fault{
	{
		name: "debt told twice, as an unknown outcome passes for a call without effect",
		fail: func(n *simNode, l *limiter.LeaseRequest) error {
			if owesAlone(l) && n.rng.IntN(2) == 0 {
				return errNotAsked
			}
			return nil
		},
	},
	{
		name: "debt dropped",
		send: func(_ *simNode, l *limiter.LeaseRequest) {
			if owesAlone(l) {
				l.More = 0
			}
		},
	},
	{
		name: "buckets of a fleet of one node",
		options: func(_ *simNode, o *lease.Options) {
			o.OutageNodes = func() int { return 1 }
		},
	},
	{
		name: "bucket started full",
		decide: func(n *simNode, h *heldKey, take *limiter.Take) bool {
			if !n.outage.Load() || n.checker.outcomes[0].inOutage >= take.Rule.Capacity()/int64(len(n.nodes)) {
				return false
			}
			take.Err = errNotAsked
			return n.decides(take, limiter.FromOutage)
		},
	},
	{
		name: "outage mode without an outage",
		decide: func(n *simNode, h *heldKey, take *limiter.Take) bool {
			take.Err = errLost
			return h.denied && n.decides(take, limiter.FromOutage)
		},
	},
}

// TestOutageModelFindsFaults plants faults, and wants each of them found within a number of runs.
func TestOutageModelFindsFaults(t *testing.T) {
	const runs = 40
	for _, f := range outageFaults {
		t.Run(f.name, func(t *testing.T) {
			for seed := range uint64(runs) {
				if err := f.playOutage(t, seed); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Errorf("runs in which the model found it = 0 of %d, want one", runs)
		})
	}
}
