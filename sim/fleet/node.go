package fleet

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/leasetest"
	"github.com/fleetlimit/fleetlimit/sim"
)

// A store has the counts of all keys, like Redis.
type store struct {
	algorithm limiter.Algorithm
	ledgers   []*leasetest.Ledger // by key
	away      bool
	calls     int64
}

// incarnation is the only incarnation of the store.
const incarnation = 1

func (s *store) ledger(key []byte) *leasetest.Ledger {
	k := int(binary.LittleEndian.Uint32(key))
	for k >= len(s.ledgers) {
		s.ledgers = append(s.ledgers, nil)
	}
	if s.ledgers[k] == nil {
		s.ledgers[k] = leasetest.NewLedger(s.algorithm)
	}
	return s.ledgers[k]
}

// A node is a gateway, and its connection to the store.
type node struct {
	limiter.Lender // nil, as leases call only Lend, Lag and Refusal
	fleet          *Fleet
	store          *lease.Store
	rule           *limiter.Rule
	ahead          limiter.Instant // the clock of the node while it is ahead of the fleet's
}

func (f *Fleet) newNode() *node {
	n := &node{fleet: f}
	n.store = lease.New(n, lease.Options{
		Clock: n.clock, Attended: true,
		Nodes: func() int { return f.options.Nodes },
		After: func(_ time.Duration, do func()) { do() }, // the parts are back already: see recall
	})
	rule := f.options.Rule
	rule.Zone = n.store.Open("simulation")
	n.rule, _ = limiter.NewRule(rule) // New has checked the rule
	return n
}

func (n *node) clock() limiter.Instant { return max(n.fleet.now, n.ahead) }

// Lend implements [limiter.Lender]. The call reaches the store half a round trip from now, and the
// clock of the node goes on to the end of the round trip.
func (n *node) Lend(requests []limiter.LeaseRequest, written func(), done func(error)) {
	if written != nil {
		written()
	}
	s := &n.fleet.store
	if s.away {
		done(n.Refusal(nil))
		return
	}
	s.calls++
	way := limiter.Instant(n.fleet.options.RoundTrip.Microseconds() / 2)
	ledgers := make([]*leasetest.Ledger, len(requests))
	for i := range requests {
		ledgers[i] = s.ledger(requests[i].Key)
	}
	leasetest.Lend(incarnation, n.fleet.now+way, ledgers, requests)
	n.recall(requests)
	n.ahead = n.fleet.now + 2*way
	done(nil)
}

// recall has the other nodes return their parts of the buckets that the store has just recalled.
func (n *node) recall(requests []limiter.LeaseRequest) {
	for i := range requests {
		l := &requests[i]
		if l.RecalledAt == 0 || l.RecalledAt != l.Decision.At {
			continue
		}
		for _, other := range n.fleet.nodes {
			if other != n {
				other.store.Recall(limiter.Recall{Key: l.Key, Rule: l.Rule.ID, At: l.RecalledAt})
			}
		}
	}
}

// Lag implements [limiter.Lender].
func (n *node) Lag() time.Duration { return 0 }

// Refusal implements [limiter.Lender].
func (n *node) Refusal([]byte) error {
	if n.fleet.store.away {
		return fmt.Errorf("fleet: the store is away: %w", limiter.ErrNotAsked)
	}
	return nil
}

// A chooser chooses the node at which a request arrives.
type chooser struct {
	spread Spread
	nodes  int
	rng    *rand.Rand
}

func (c *chooser) node(k sim.Key) int {
	switch c.spread {
	case Sticky:
		const golden = 0x9e3779b9 // spreads consecutive numbers
		return int(uint32(k)*golden>>8) % c.nodes
	case Zipf:
		for {
			if i := c.rng.IntN(c.nodes); c.rng.Float64() < 1/float64(i+1) {
				return i
			}
		}
	default:
		return c.rng.IntN(c.nodes)
	}
}
