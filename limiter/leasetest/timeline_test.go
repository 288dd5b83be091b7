package leasetest

import (
	"context"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A countReader inspects the counts of a simulation.
type countReader struct {
	limiter.Operator // nil
	*simulation
}

// Inspect implements [limiter.Operator].
func (c countReader) Inspect(_ context.Context, _ limiter.Instant, r *limiter.Rule, key []byte) (i limiter.Inspection, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i.Count = c.store.ledger(&limiter.LeaseRequest{Rule: r, Key: key}).Inspect(r, c.now())
	return i, nil
}

// holds returns how many events the node can still spend of its leases of a key.
func (n *simNode) holds(t *testing.T, key int) (events int64) {
	t.Helper()
	i, err := n.store.Inspect(context.Background(), n.clock(), n.rule, n.textOf(key))
	if err != nil {
		t.Fatal(err)
	}
	if i.Account != nil {
		for _, l := range i.Account.Leases {
			events += l.Events
		}
	}
	return events
}

// bucketNow returns what is left in the bucket of a key, what its parts hold by its account, and
// when they were recalled.
func (s *simulation) bucketNow(key int) (left, parts int64, recalledAt limiter.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.store.ledger(&limiter.LeaseRequest{Rule: s.rule, Key: s.nodes[0].textOf(key)})
	b := bucketOf(g.count.clone())
	b.advance(s.rule, s.now())
	return s.rule.Capacity() - b.missing, b.holds(s.rule), b.recalledAt
}

// TestLeaseTimeline takes 3 events per second at each of three nodes, and 450 more at the first one
// after 100 s. That node leases what is left, and the store recalls what the others hold. No take is
// denied. docs/how-it-works.md shows what the test logs.
func TestLeaseTimeline(t *testing.T) {
	const burst = 450
	limit := limiter.Rule{Algorithm: limiter.Algorithm{Kind: limiter.TokenBucket}, Limit: limiter.Limit{Events: 1000, Window: time.Minute}}
	inSimulation(t, limit, 3, 1, func(t *testing.T, s *simulation) {
		for _, n := range s.nodes {
			n.Operator = countReader{simulation: s}
		}
		start, takes, most := s.now(), int64(0), int64(0)
		var recalled limiter.Instant
		show := func() {
			left, parts, recalledAt := s.bucketNow(0)
			most, recalled = max(most, parts), max(recalled, recalledAt)
			t.Logf("%6.2f s: the store has %4d, parts hold %3d by its account, nodes %3d, %3d, %3d; recalled: %v",
				float64(s.now()-start)/sec, left, parts, s.nodes[0].holds(t, 0), s.nodes[1].holds(t, 0), s.nodes[2].holds(t, 0), recalledAt != 0)
		}
		pass := func(seconds int) {
			for range seconds {
				for range 3 {
					for _, n := range s.nodes {
						n.take(0, 1)
						takes++
					}
					sleep[int64](sec / 3)
				}
				show()
			}
		}
		pass(100)
		held := s.nodes[1].holds(t, 0) + s.nodes[2].holds(t, 0)
		for i := range burst {
			s.nodes[0].take(0, 1)
			takes++
			if sleep[int64](ms); i%50 == 49 {
				show()
			}
		}
		if recalled < start+100*sec {
			t.Error("the store has not recalled the parts in the burst")
		}
		sleep[int64](20 * ms)
		if now := s.nodes[1].holds(t, 0) + s.nodes[2].holds(t, 0); held < 200 || now > 0 {
			t.Errorf("the other nodes held %d before the burst and %d after it, want 200 at least and 0", held, now)
		}
		pass(100)
		s.mu.Lock()
		defer s.mu.Unlock()
		if o := &s.checker.outcomes[0]; o.admitted != takes || s.checker.err != nil {
			t.Errorf("admitted %d of %d takes; %v", o.admitted, takes, s.checker.err)
		}
		if most > 800 {
			t.Errorf("parts held %d, want 800 at most", most)
		}
	})
}
