package limiter

import (
	"fmt"
	"slices"
)

// An Algorithm is a way to enforce a limit. The zero value is the token bucket.
type Algorithm struct {
	Kind Kind

	// SubWindows is the number of parts of a window of a sliding window counter. More parts follow the
	// sliding window more closely and take 8 bytes each per key. 0 means 1. It must be 0 for the other
	// kinds.
	SubWindows int
}

// Kind names an algorithm.
type Kind uint8

// The algorithms, with their names in configurations.
const (
	TokenBucket      Kind = iota // "token_bucket": refills steadily, admits Burst at once after a pause
	SlidingWindowLog             // "sliding_window_log": remembers every event; exact for any window
	SlidingWindow                // "sliding_window": counts per sub-window and weighs the oldest
	FixedWindow                  // "fixed_window": counts per window; up to twice the limit across a boundary
)

// MaxSubWindows bounds Algorithm.SubWindows.
const MaxSubWindows = 1000

// algorithms holds what differs between the kinds, by kind. The methods of rules and counts look it
// up here.
var algorithms = [...]struct {
	name       string
	calculator calculator // nil for the log, which is a Count of its own

	refills  bool // see Kind.Refills
	promises bool // see Kind.Promises

	// divisor returns the divisor in a fleet of nodes: a node gets, beyond its need, one in divisor of
	// the events that are left. See LeaseRequest.Divisor.
	divisor func(nodes int64) int64

	// leaseSlot returns the length of the slots in which leases expire, in µs, or 0 if a slot would be
	// too short. It is nil if leases expire with the windows.
	leaseSlot func(r *Rule) int64
}{
	TokenBucket: {
		name: "token_bucket", calculator: bucketCalculator{}, refills: true, promises: true,
		divisor: func(nodes int64) int64 { return bucketDivisor * nodes }, leaseSlot: (*Rule).partSlot,
	},
	SlidingWindowLog: {
		name:    "sliding_window_log",
		divisor: func(nodes int64) int64 { return logDivisor * nodes }, leaseSlot: (*Rule).logSlot,
	},
	SlidingWindow: {name: "sliding_window", calculator: slidingCalculator{}, divisor: divisorOfWindow},
	FixedWindow:   {name: "fixed_window", calculator: fixedCalculator{}, divisor: divisorOfWindow},
}

// KindNames returns the names of all kinds in configurations.
func KindNames() (names []string) {
	for _, a := range algorithms {
		names = append(names, a.name)
	}
	return names
}

// Refills reports whether used events come back at a steady rate, and not when a window ends. Then
// a limit may have a burst, which is the most events at once.
func (k Kind) Refills() bool { return algorithms[k].refills }

// Promises reports whether a count can promise a waiting take the instant of its turn: see
// [Promiser].
func (k Kind) Promises() bool { return algorithms[k].promises }

// String returns the name of k in configurations.
func (k Kind) String() string {
	if int(k) >= len(algorithms) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return algorithms[k].name
}

// ParseKind returns the kind with this name in configurations.
func ParseKind(name string) (Kind, error) {
	if k := slices.Index(KindNames(), name); k >= 0 {
		return Kind(k), nil
	}
	return 0, fmt.Errorf("limiter: unknown algorithm %q, want one of %v", name, KindNames())
}

// CountBytes returns the most bytes that a count takes in memory if its limit allows the given
// number of events. A log may take twice as much as its entries, because it grows by doubling.
func (a Algorithm) CountBytes(events int64) int64 {
	if n := a.StateSize(); n > 0 {
		return 8 * int64(n)
	}
	const entry = 16
	return 2 * entry * min(events, 1<<40)
}

// Validate returns an error that names the field and its bounds when a cannot be used.
func (a Algorithm) Validate() error {
	switch {
	case int(a.Kind) >= len(algorithms):
		return fmt.Errorf("limiter: unknown algorithm %v", a.Kind)
	case a.Kind != SlidingWindow && a.SubWindows != 0:
		return fmt.Errorf("limiter: %v has no sub-windows, use sliding_window", a.Kind)
	case a.SubWindows < 0 || a.SubWindows > MaxSubWindows:
		return fmt.Errorf("limiter: sub-windows = %d, want 1 to %d", a.SubWindows, MaxSubWindows)
	}
	return nil
}
