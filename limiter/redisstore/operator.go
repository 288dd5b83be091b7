package redisstore

import (
	"context"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// Inspect implements [limiter.Operator]. It peeks at a take of one event.
func (s *Store) Inspect(ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte) (i limiter.Inspection, err error) {
	g := group{{Rule: r, Key: key, Cost: 1}}
	c := s.takeCall(now, g, false)
	if err = s.operate(ctx, c); err != nil {
		return i, err
	}
	result, err := readTakes(c.Reply, g, false)
	if err != nil {
		return i, err
	}
	s.foreign.Add(uint64(result.foreign))
	i.Count = result.counts[0].State(r)
	return i, nil
}

// Reset implements [limiter.Operator]. Leases under other rules of the key that are out then are
// not returned any more. A failover may lose a reset, as it may lose any write.
func (s *Store) Reset(ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte) error {
	b := s.newCall(key, now, "reset")
	b.NewKey = !s.known.has(key)
	b.add(r, 0, 0)
	return s.operate(ctx, b.callOf(&resetScripts))
}

// AddQuota implements [limiter.Operator].
func (s *Store) AddQuota(
	ctx context.Context, now limiter.Instant, r *limiter.Rule, key []byte, events int64,
) (state limiter.CountState, err error) {
	b := s.newCall(key, now, "add quota")
	b.add(r, events, 0)
	c := b.callOf(&addQuotaScripts)
	if err = s.operate(ctx, c); err != nil {
		return state, err
	}
	state, foreign, err := readCount(c.Reply, r)
	s.foreign.Add(uint64(foreign))
	return state, err
}

// operate makes a call and returns its error.
func (s *Store) operate(ctx context.Context, c *redisconn.Call) error {
	s.client.Do(ctx, c)
	return late(c.Err)
}
