package limiter

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"
)

// A Rule is the effective limit of one kind of key: what a take is decided by. Rules are made by [NewRule], immutable,
// and shared by all takes.
type Rule struct {
	// ID tells the counts of this rule from those of all others in a store. Rules with the same ID share their counts;
	// a rule that must start fresh (another algorithm, another key) needs another ID.
	ID uint32

	// Zone is what the store has open for the zone of this rule. A store without local state needs none.
	Zone Zone

	// MaxKeys bounds the keys in the zone.
	MaxKeys int

	Algorithm Algorithm
	Limit     Limit

	// Strict says that the store decides every take: nothing is leased and nothing admitted before it has answered.
	Strict bool

	// MaxOvershoot is by what fraction of the limit a fleet that decides by leases may exceed it. 0 <= MaxOvershoot <= 1.
	MaxOvershoot float64

	// Derived from Limit, so that no take has to.
	window   int64 // µs
	capacity int64 // the most that can be taken at once

	// The refill rate of a bucket, events/window in lowest terms: refill events every per µs.
	refill, per int64

	// Length of a sub-window in µs: window/SubWindows, rounded up, so that the parts are together no shorter than the
	// window, and longer by less than SubWindows µs.
	sub int64

	slot    int64  // see leaseSlot
	limitID uint32 // tells this limit from another one of the same count; not 0
}

// DefaultMaxKeys is Rule.MaxKeys when it is not said.
const DefaultMaxKeys = 1_000_000

// NewRule returns r completed and checked. Its exported fields must not be changed afterwards.
func NewRule(r Rule) (*Rule, error) {
	if err := r.Limit.Validate(); err != nil {
		return nil, err
	}
	if err := r.Algorithm.Validate(); err != nil {
		return nil, err
	}
	if r.MaxKeys < 0 {
		return nil, fmt.Errorf("limiter: max keys = %d, want 1 or more", r.MaxKeys)
	}
	if !(r.MaxOvershoot >= 0 && r.MaxOvershoot <= 1) { // nor NaN
		return nil, fmt.Errorf("limiter: max overshoot = %v, want 0 to 1", r.MaxOvershoot)
	}
	if r.MaxKeys == 0 {
		r.MaxKeys = DefaultMaxKeys
	}
	r.window = int64(r.Limit.Window / time.Microsecond)
	r.capacity = r.Limit.Events
	if r.Algorithm.Kind == TokenBucket && r.Limit.Burst > 0 {
		r.capacity = r.Limit.Burst
	}
	g := gcd(r.Limit.Events, r.window)
	r.refill, r.per = r.Limit.Events/g, r.window/g
	if r.Algorithm.Kind == SlidingWindow {
		n := int64(max(1, r.Algorithm.SubWindows))
		r.Algorithm.SubWindows = int(n)
		r.sub = (r.window + n - 1) / n
	}
	r.slot = r.leaseSlot()
	r.limitID = limitID(r.capacity, r.refill, r.per, r.window, r.strictness())
	return &r, nil
}

// strictness tells strict rules from others: what an account holds under the one is of no use under the other.
func (r *Rule) strictness() int64 {
	if r.Strict {
		return 1
	}
	return 0
}

// limitID returns a number that other limits do not have, as a rule.
func limitID(numbers ...int64) uint32 {
	h := fnv.New32a()
	for _, n := range numbers {
		_ = binary.Write(h, binary.LittleEndian, n) // to a hash, which takes everything
	}
	return max(1, h.Sum32())
}

// Capacity returns the most events that can be taken at once: a take with a higher cost never succeeds.
func (r *Rule) Capacity() int64 { return r.capacity }

// FillTime returns how long a key that used up its capacity takes to be back to it: the time a bucket needs to fill, the
// window of the window algorithms. A sliding window counter, which does not remember when in a sub-window events came,
// may take up to one sub-window more.
func (r *Rule) FillTime() time.Duration {
	if r.Algorithm.Kind != TokenBucket {
		return r.Limit.Window
	}
	return time.Duration(min(mulDivUp(r.capacity, r.per, r.refill), int64(Never)/1000)) * time.Microsecond
}

// Rate returns the rate of the limit in lowest terms: so many events every so many microseconds.
func (r *Rule) Rate() (events, microseconds int64) { return r.refill, r.per }

// SubWindow returns the length of a sub-window of a sliding window counter in microseconds, 0 for other algorithms.
func (r *Rule) SubWindow() int64 { return r.sub }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
