package inspect

import (
	"context"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// count asks the store for the count of a key.
func (i *inspector) count(ctx context.Context, c *api.InspectedCount, r *limiter.Rule, key []byte) {
	found, err := i.store.Inspect(ctx, i.now, r, key)
	if err != nil {
		c.Error = err.Error()
	} else {
		c.Count = newCountState(&found.Count, i.now)
	}
	if found.Account != nil {
		c.Node = newNodeState(found.Account, i.now)
	}
}

func newCountState(c *limiter.CountState, now time.Time) *api.CountState {
	return &api.CountState{
		Limit: c.Limit, Remaining: c.Remaining, Consumed: c.Consumed, Leased: c.Leased,
		RetryAt: instantAt(c.RetryAt, c.At, now), ResetAt: instantAt(c.ResetAt, c.At, now),
		LeasedUntil: instantAt(c.LeasedUntil, c.At, now),
	}
}

func newNodeState(a *limiter.AccountState, now time.Time) *api.NodeState {
	n := &api.NodeState{
		Leases: []api.NodeLease{}, Debt: a.Debt, DeniedUntil: timeIn(a.DeniedFor, now),
		DeniedCost: a.DeniedCost, Demand: a.Demand, Requesting: a.Requesting,
	}
	for _, l := range a.Leases {
		if expires := timeIn(l.Lasts, now); expires != nil {
			n.Leases = append(n.Leases, api.NodeLease{Events: l.Events, ExpiresAt: *expires})
		}
	}
	return n
}

// instantAt returns i, by a clock that reads at, by the clock of this node, which reads now. It is
// nil if i has passed, or never comes.
func instantAt(i, at limiter.Instant, now time.Time) *time.Time {
	if i == limiter.Never {
		return nil
	}
	return timeIn(time.Duration(i-at)*time.Microsecond, now)
}

// timeIn returns the time when d has passed from now on, or nil if that is over.
func timeIn(d time.Duration, now time.Time) *time.Time {
	if d <= 0 {
		return nil
	}
	t := now.Add(d).UTC().Truncate(time.Millisecond)
	return &t
}
