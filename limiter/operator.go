package limiter

import (
	"context"
	"time"
)

// An Operator lets a person look at the count of one key and change it. Each call is atomic: takes
// come before it or after it.
type Operator interface {
	// Inspect returns what is known of the count of key under r. It changes nothing, takes nothing
	// and keeps nothing alive.
	Inspect(ctx context.Context, now Instant, r *Rule, key []byte) (Inspection, error)

	// Reset gives key its full limit again. Nothing from before the reset comes back to the count:
	// neither leases that are returned later, nor takes that are refunded later, nor what a node has
	// seen. Nodes may still spend the leases that they hold, and settle debt, until they are told to
	// drop their accounts.
	Reset(ctx context.Context, now Instant, r *Rule, key []byte) error

	// AddQuota gives back at most the given number of the events that key has consumed, and returns
	// the count after that. At most the full limit remains. So key may take that many events more
	// than its limit in a window, but never more than its limit at once.
	//
	// The newest events are given back first. They would have been the last to leave the window, so
	// the quota is of use for the longest time, and the instants that were announced for older
	// events stay true. Token buckets and sliding window logs do not give back leased events that
	// may still be spent. The other algorithms do not tell these from other events.
	AddQuota(ctx context.Context, now Instant, r *Rule, key []byte, events int64) (CountState, error)
}

// An Inspection is what is known of the count of one key.
type Inspection struct {
	Count CountState

	// Account is what this node knows and holds for the key. It is nil when the node has no account
	// of it, as in a store without leases.
	Account *AccountState
}

// A CountState is the state of the count of one key in a store.
type CountState struct {
	// At is the instant of this state by the clock of the store. Compare the other instants with
	// it, not with another clock.
	At Instant

	// Limit is the most that could ever be taken at once, and Remaining what may be taken now.
	Limit, Remaining int64

	// Consumed is how many consumed events count now, leased events included. After a limit was
	// lowered, it may be above Limit.
	Consumed int64

	// RetryAt is the earliest instant at which one event can be taken. It is At if one can be taken
	// now.
	RetryAt Instant

	// ResetAt is the instant at which the key is back to its full limit if nothing else is taken.
	ResetAt Instant

	// LeasedUntil is when the last lease expires, or 0 if no node has a lease. Leased is how many
	// of the consumed events nodes have leased and not returned. Leased is 0 for fixed windows and
	// sliding window counters, which do not tell leased events from others.
	LeasedUntil Instant
	Leased      int64
}

// An AccountState is what a node knows and holds for one key under one rule. It has no instants:
// the clock of the node is not that of the count.
type AccountState struct {
	// Leases are the leases that hold events, the older first. An expired lease is about to be
	// returned.
	Leases []LeaseState

	// Debt is how many events the node has admitted without the store, which has not debited them
	// yet as far as the node knows.
	Debt int64

	// DeniedFor is how long the node will repeat the last denial by itself, for takes of DeniedCost
	// events and more. It is 0 if there is no denial to repeat.
	DeniedFor  time.Duration
	DeniedCost int64

	// Demand is how many events takes will probably spend per second.
	Demand float64

	// Requesting reports whether a lease request is under way.
	Requesting bool
}

// A LeaseState is a lease that a node holds.
type LeaseState struct {
	Events int64
	Lasts  time.Duration // for how long it may still be spent; 0 if it has expired
}

// stateOf returns the state of a count with the given consumption. d is the decision on a take of
// one event.
func stateOf(d Decision, consumed int64) CountState {
	return CountState{
		At: d.At, Limit: d.Limit, Remaining: d.Remaining, Consumed: consumed, RetryAt: d.RetryAt, ResetAt: d.ResetAt,
	}
}
