package limiter

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"time"
)

// A Rule is the limit in force for one kind of key. [NewRule] makes rules. They are immutable and
// shared by all takes.
type Rule struct {
	// ID identifies the counts of this rule in a store. Rules with the same ID share their counts.
	// A rule that must start fresh (another algorithm, another key) needs another ID.
	ID uint32

	// Zone is what the store returned when it opened the rule's zone. A store without local state
	// needs none.
	Zone Counts

	// MaxKeys bounds the keys in the zone. 0 means DefaultMaxKeys.
	MaxKeys int

	Algorithm Algorithm
	Limit     Limit

	// Strict means that the store decides every take: no leases.
	Strict bool

	// MaxWait is the longest that any take of this count may wait for its turn: see Take.Wait. Rules
	// with the same ID must have the same MaxWait. Otherwise a promise under one rule may be broken
	// under another.
	MaxWait time.Duration

	// KeepFor is the least time for which stores keep a bucket after a take, unless the bucket is
	// full. A temporary rule needs KeepFor if the limit that follows refills more slowly, because
	// the next take may come under that limit. See FullAfter. Other algorithms ignore KeepFor.
	KeepFor time.Duration

	// OnOutage is how takes are decided while the store is in an outage.
	OnOutage OutageMode

	// Derived from the fields above, so that no take has to.
	window      int64  // µs
	capacity    int64  // the most that can be taken at once
	refill, per int64  // the rate in lowest terms: refill events every per µs
	sub         int64  // µs of a sub-window: window/SubWindows, rounded up
	slot        int64  // see leaseSlot
	mostMissing int64  // the most that a bucket lacks: see tokenBucket
	limitID     uint32 // see LimitID
}

// DefaultMaxKeys is the Rule.MaxKeys of a rule that sets none.
const DefaultMaxKeys = 1_000_000

// NewRule checks r and returns a complete copy. Its exported fields must not be changed afterwards.
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
	if r.MaxWait < 0 || r.MaxWait > maxWait {
		return nil, fmt.Errorf("limiter: max wait = %v, want 0 to %v", r.MaxWait, maxWait)
	}
	if r.KeepFor < 0 {
		return nil, fmt.Errorf("limiter: keep for = %v, want 0 or more", r.KeepFor)
	}
	if int(r.OnOutage) >= len(outageModes) {
		return nil, fmt.Errorf("limiter: unknown outage mode %d", r.OnOutage)
	}
	r.setDefaults()
	r.window = int64(r.Limit.Window / time.Microsecond)
	r.capacity = r.Limit.Events
	if r.Algorithm.Kind.Refills() && r.Limit.Burst > 0 {
		r.capacity = r.Limit.Burst
	}
	g := gcd(r.Limit.Events, r.window)
	r.refill, r.per = r.Limit.Events/g, r.window/g
	if r.Algorithm.Kind == SlidingWindow {
		n := int64(r.Algorithm.SubWindows)
		r.sub = (r.window + n - 1) / n
	}
	r.slot = r.leaseSlot()
	r.mostMissing = max(2*r.capacity, r.capacity+r.promisable())
	id := fnv.New32a()
	// Writing to a hash never fails. Strict is written too, because an account under a strict rule is
	// of no use under a rule that is not strict.
	_ = binary.Write(id, binary.LittleEndian, []int64{r.capacity, r.refill, r.per, r.window})
	_ = binary.Write(id, binary.LittleEndian, r.Strict)
	r.limitID = max(1, id.Sum32())
	return &r, nil
}

// Settings returns r without its limit, with defaults in place of the fields that are not set.
// Rules whose settings and limits are equal decide alike.
func (r *Rule) Settings() Rule {
	s := Rule{
		ID: r.ID, Zone: r.Zone, MaxKeys: r.MaxKeys, Algorithm: r.Algorithm, Strict: r.Strict, MaxWait: r.MaxWait, OnOutage: r.OnOutage,
	}
	s.setDefaults()
	return s
}

// setDefaults sets the fields that are not set and have a default.
func (r *Rule) setDefaults() {
	if r.MaxKeys == 0 {
		r.MaxKeys = DefaultMaxKeys
	}
	if r.Algorithm.Kind == SlidingWindow {
		r.Algorithm.SubWindows = max(1, r.Algorithm.SubWindows)
	}
}

// Capacity returns the most events that can be taken at once. A take with a higher cost never
// succeeds.
func (r *Rule) Capacity() int64 { return r.capacity }

// FillTime returns how long an exhausted key takes to be back at its full limit: the time that a
// bucket needs to fill, or the window. A sliding window counter may take up to one sub-window more,
// because it does not know when in a sub-window events came.
func (r *Rule) FillTime() time.Duration {
	if !r.Algorithm.Kind.Refills() {
		return r.Limit.Window
	}
	return time.Duration(min(r.TimeFor(r.capacity), int64(Never)/1000)) * time.Microsecond
}

// FullAfter returns the time after which any bucket is full if nothing is taken. It is longer than
// FillTime, because a bucket may lack more than its capacity after its limit was lowered. It is 0
// for other algorithms, whose windows pass when they would have passed under the limit that they
// were written under.
func (r *Rule) FullAfter() time.Duration {
	if !r.Algorithm.Kind.Refills() {
		return 0
	}
	return time.Duration(min(r.TimeFor(r.mostMissing), int64(Never)/1000)) * time.Microsecond
}

// Rate returns the rate of the limit in lowest terms: events per microseconds.
func (r *Rule) Rate() (events, microseconds int64) { return r.refill, r.per }

// SubWindow returns the length of a sub-window of a sliding window counter in microseconds, and 0
// for other algorithms.
func (r *Rule) SubWindow() int64 { return r.sub }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
