package fleet

import (
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// A Fault is a failure in a fleet. It begins with the first request that the single counter rejects,
// because mistakes show best then.
type Fault uint8

const (
	None      Fault = iota
	NodeLost        // a node starts again, without its leases
	StoreAway       // the nodes cannot reach the store for a minute
)

// Faults are all faults.
var Faults = []Fault{None, NodeLost, StoreAway}

var faultNames = [...]string{"none", "node_lost", "redis_away_1m"}

// String returns the name of the fault in reports.
func (f Fault) String() string { return faultNames[f] }

// awayFor is how long the nodes cannot reach the store, in µs.
const awayFor = limiter.Instant(60_000_000)

// A Spread says how requests are spread over the nodes.
type Spread uint8

const (
	Even   Spread = iota // at random
	Sticky               // all requests of a key go to one node
	Zipf                 // the nth node gets 1/n as many requests as the first
)

var spreadNames = [...]string{"even", "sticky", "zipf"}

// String returns the name of the spread.
func (s Spread) String() string { return spreadNames[s] }

// ParseSpread parses the name of a spread.
func ParseSpread(name string) (Spread, error) {
	if s := slices.Index(spreadNames[:], name); s >= 0 {
		return Spread(s), nil
	}
	return 0, fmt.Errorf("%q is no spread: use even, sticky or zipf", name)
}

// An Outcome is what a fleet has done, compared with a single counter.
type Outcome struct {
	Fault    string `json:"fault"`
	Admitted int64  `json:"admitted"`
	Rejected int64  `json:"rejected"`

	// OverAdmitted is the number of requests that the fleet has admitted beyond the single counter,
	// summed over the keys of which it has admitted more. FalselyRejected is the number of requests
	// that it has admitted less, summed over the other keys.
	OverAdmitted    int64 `json:"over_admitted"`
	FalselyRejected int64 `json:"falsely_rejected"`

	CallsPer1000 float64 `json:"calls_per_1000_requests"`
	LocalShare   float64 `json:"decided_locally_share"`
	Outage       int64   `json:"decided_in_outage"` // requests

	local int64
}

// count counts a decision d of the fleet, and the decision of the single counter.
func (f *Fleet) count(k sim.Key, d limiter.Decision, central bool) {
	for int(k) >= len(f.keys) {
		f.keys = append(f.keys, 0)
	}
	if d.OK {
		f.sums.Admitted++
	} else {
		f.sums.Rejected++
	}
	switch {
	case d.OK && !central:
		f.keys[k]++
	case !d.OK && central:
		f.keys[k]--
	}
	if d.Source != limiter.FromStore {
		f.sums.local++
	}
	if d.Source.WithoutStore() {
		f.sums.Outage++
	}
}

// Outcome returns what the fleet has done so far.
func (f *Fleet) Outcome() Outcome {
	o := f.sums
	o.Fault = f.fault.String()
	for _, beyond := range f.keys {
		o.OverAdmitted += max(0, beyond)
		o.FalselyRejected += max(0, -beyond)
	}
	if all := float64(o.Admitted + o.Rejected); all > 0 {
		o.CallsPer1000, o.LocalShare = 1000*float64(f.store.calls)/all, float64(o.local)/all
	}
	return o
}
