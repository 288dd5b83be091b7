package limiter

import (
	"fmt"
	"slices"
)

// An OutageMode says how a node decides takes that the store cannot decide.
type OutageMode uint8

const (
	OutageLocal  OutageMode = iota // a bucket of the node decides: see Rule.InOutage
	OutageOpen                     // all takes are admitted
	OutageClosed                   // all takes are denied
)

var outageModes = [...]string{"local", "open", "closed"}

// String returns the name of m in configurations.
func (m OutageMode) String() string { return outageModes[m] }

// ParseOutageMode parses the name of an outage mode.
func ParseOutageMode(name string) (OutageMode, error) {
	if m := slices.Index(outageModes[:], name); m >= 0 {
		return OutageMode(m), nil
	}
	return 0, fmt.Errorf("limiter: unknown outage mode %q, want one of %v", name, outageModes)
}

// maxOutageNodes bounds the nodes that share a limit, so that nothing overflows.
const maxOutageNodes = 10_000

// A LocalBucket is the token bucket with which a node limits a key while the store is in an outage.
type LocalBucket struct {
	Capacity    int64 // at least 1
	refill, per int64 // the rate: refill events every per µs
	step        int64 // how many events the bucket gets at a time
}

// localSteps is in how many steps a bucket fills if its capacity is that large. A smaller bucket
// gets one event at a time. The time of each step is rounded up to a µs, which would slow down a
// bucket with many short steps too much.
const localSteps = 4096

// InOutage returns the bucket of each node if the given number of nodes share the limit of r. All
// buckets together have the rate and the capacity of the limit, or one event each if that is more.
// So in a window they admit at most twice the limit, and one event per node besides: what they hold
// when the window begins, and what they get while it lasts.
func (r *Rule) InOutage(nodes int) LocalBucket {
	n := int64(min(max(nodes, 1), maxOutageNodes))
	capacity := max(1, r.capacity/n)
	return LocalBucket{Capacity: capacity, refill: r.refill, per: r.per * n, step: max(1, capacity/localSteps)}
}

// Accrue returns how many events the bucket gets in us µs, and how many µs that many events take.
func (b LocalBucket) Accrue(us int64) (events, took int64) {
	events = mulDiv(us, b.refill, b.per)
	if events -= events % b.step; events > 0 {
		took = mulDivUp(events, b.per, b.refill)
	}
	return events, took
}

// TimeFor returns in how many µs the bucket gets at least the given number of events, or
// math.MaxInt64 if that does not fit.
func (b LocalBucket) TimeFor(events int64) int64 {
	return mulDivUp((events+b.step-1)/b.step*b.step, b.per, b.refill)
}
