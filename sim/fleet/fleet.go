// Package fleet replays a trace through a fleet of gateways: nodes that lease from one store. The nodes
// run package lease, as gateways do. It shows what leases cost compared with one counter: which
// requests are decided otherwise, and how often the store is called.
//
// The time is the time of the trace. Nodes attend to their leases as often as gateways do, also while
// no request arrives. A call takes the round trip, and the clock of the calling node is ahead by that
// time. The calls of a node overlap, so its clock is never further ahead. Each request is decided
// before the next one arrives.
package fleet

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// Options describe the simulated fleet.
type Options struct {
	Rule      limiter.Rule
	Nodes     int
	RoundTrip time.Duration // from a node to the store and back
	Spread    Spread
	Seed      uint64 // of the random choice of nodes
}

// MaxNodes is the highest value of Options.Nodes.
const MaxNodes = 1000

// A Fleet replays a trace with one fault, and also through a single counter. It is for one goroutine.
type Fleet struct {
	options Options
	fault   Fault
	rule    *limiter.Rule
	central *sim.Replay
	store   store
	nodes   []*node
	choose  chooser
	now     limiter.Instant
	attend  limiter.Instant // the next instant at which nodes attend to their leases
	faultAt limiter.Instant // the instant at which the fault began; 0 if it has not begun
	keys    []int64         // by key: admitted requests, minus those that the single counter admits
	sums    Outcome
}

// New returns a fleet that has the fault f.
func New(o Options, f Fault) (*Fleet, error) {
	if o.Nodes < 1 || o.Nodes > MaxNodes {
		return nil, fmt.Errorf("there are %d nodes: use 1 to %d", o.Nodes, MaxNodes)
	}
	rule, err := limiter.NewRule(o.Rule)
	if err != nil {
		return nil, err
	}
	fleet := &Fleet{options: o, fault: f, rule: rule, central: sim.NewReplay(rule)}
	fleet.store = store{algorithm: rule.Algorithm}
	fleet.choose = chooser{o.Spread, o.Nodes, rand.New(rand.NewPCG(o.Seed, 0))}
	return fleet, nil
}

// Add has the next request arrive at one of the nodes. Requests must come in the order of their
// instants.
func (f *Fleet) Add(r sim.Arrival) {
	f.advance(r.At)
	for len(f.nodes) < f.options.Nodes {
		f.nodes = append(f.nodes, f.newNode())
	}
	central := f.central.Take(r)
	if !central.OK && f.faultAt == 0 {
		f.faultAt = r.At
		if f.fault == NodeLost {
			f.nodes[0] = f.newNode() // the old node does not return its leases
		}
	}
	f.store.away = f.fault == StoreAway && f.faultAt != 0 && r.At < f.faultAt+awayFor
	d := f.nodes[f.choose.node(r.Key)].take(r, min(r.Cost, f.rule.Capacity()))
	f.count(r.Key, d, central.OK)
}

// Close closes the nodes.
func (f *Fleet) Close() {
	for _, n := range f.nodes {
		n.store.Close()
	}
}

const (
	// attendEvery is the interval at which nodes attend to their leases. idleAfter is the time without
	// a request after which all leases have expired. Both are in µs.
	attendEvery = 10_000
	idleAfter   = 60_000_000
)

// advance lets time pass up to an instant.
func (f *Fleet) advance(to limiter.Instant) {
	if f.nodes == nil || f.attend > f.now+attendEvery {
		f.attend = to
	}
	for ; f.attend <= min(to, f.now+idleAfter); f.attend += attendEvery {
		f.now = max(f.now, f.attend)
		for _, n := range f.nodes {
			n.store.Attend()
		}
	}
	f.now = max(f.now, to)
}

// take decides a request at n. cost is the cost of the request, at most what can be taken at once.
func (n *node) take(r sim.Arrival, cost int64) limiter.Decision {
	var room [4]byte
	takes := [1]limiter.Take{{Rule: n.rule, Key: binary.LittleEndian.AppendUint32(room[:0], uint32(r.Key)), Cost: cost}}
	_ = n.store.Take(context.Background(), n.clock(), takes[:]) // the decision says if the store was away
	return takes[0].Decision
}
