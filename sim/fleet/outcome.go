package fleet

import (
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// A Fault is what fails in a fleet. It begins with the first request that a single counter rejects,
// when a mistake is seen best.
type Fault uint8

const (
	None      Fault = iota
	NodeLost        // a node begins anew, without its leases
	StoreAway       // the store cannot be reached for a minute
)

// Faults are all faults.
var Faults = []Fault{None, NodeLost, StoreAway}

var faultNames = [...]string{"none", "node_lost", "redis_away_1m"}

// String returns the name of the fault in reports.
func (f Fault) String() string { return faultNames[f] }

// awayFor is how long the store is away, in µs.
const awayFor = limiter.Instant(60_000_000)

// A Spread is how requests are spread over the nodes.
type Spread uint8

const (
	Even   Spread = iota // at random
	Sticky               // all requests of a key at one node
	Zipf                 // the nth node gets 1/n as many as the first
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

// An Outcome is what a fleet did, beside a single counter.
type Outcome struct {
	Fault    string `json:"fault"`
	Admitted int64  `json:"admitted"`
	Rejected int64  `json:"rejected"`

	// OverAdmitted are requests of keys of which the fleet has admitted more than one counter, and by
	// how many; FalselyRejected those of which it has admitted less.
	OverAdmitted    int64 `json:"over_admitted"`
	FalselyRejected int64 `json:"falsely_rejected"`

	CallsPer1000 float64 `json:"calls_per_1000_requests"`
	LocalShare   float64 `json:"decided_locally_share"`
	Outage       int64   `json:"decided_in_outage"` // requests

	local int64
}

// count counts a decision, and that of a single counter.
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

// Outcome returns what has happened so far.
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
