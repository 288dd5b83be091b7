package concurrency

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// Peek decides as Acquire would decide as far as this node knows, and acquires nothing. It allows a
// request about which the lender would have to be asked.
func (s *Limiter) Peek(now time.Time, r *Rule, key []byte) (d limiter.Decision) {
	at, a := s.options.Clock(now), s.copyOf(r, key)
	ok, source, known := s.known(&a, at)
	if !known {
		ok, source = true, s.local()
	}
	a.decide(&d, at, ok, s.leases(), source)
	return d
}

// Preview decides as Acquire would decide now, and acquires nothing. Unlike Peek, it asks the
// lender if this node does not know enough. Remaining does not count the request itself.
func (s *Limiter) Preview(ctx context.Context, now time.Time, r *Rule, key []byte) (d limiter.Decision, err error) {
	at, a := s.options.Clock(now), s.copyOf(r, key)
	ok, source, known := s.known(&a, at)
	if !known {
		if a.free, err = s.askFree(ctx, r, key); ctx.Err() != nil {
			return d, fmt.Errorf("concurrency: %w", ctx.Err())
		}
		// The lender counts neither requests beyond the lease nor requests that wait.
		a.free -= max(0, a.inFlight-a.usable(at, true)) + int64(len(a.waiters))
		ok, source = a.free > 0, limiter.FromStore
	}
	if err != nil {
		ok, source = s.inOutage(&a, err)
	}
	a.decide(&d, at, ok, s.leases(), source)
	return d, err
}

// copyOf returns a copy of the account of a key, or a new one.
func (s *Limiter) copyOf(r *Rule, key []byte) account {
	a := account{key: string(key)}
	sh := s.shardOf(key)
	sh.Lock()
	if known := sh.accounts[countID{r.ID, a.key}]; known != nil {
		a = *known
	}
	sh.Unlock()
	a.rule = r
	return a
}

// askFree asks the lender how many permits of a key are free. It asks in the name of a node that
// holds and needs no permits, so the lender records nothing.
func (s *Limiter) askFree(ctx context.Context, r *Rule, key []byte) (free int64, err error) {
	if err := s.options.Lender.Refusal(key); err != nil {
		return 0, err
	}
	type answer struct {
		free int64
		err  error
	}
	answered := make(chan answer, 1)
	s.options.Lender.Exchange(&LeaseRequest{
		Rule: r.ID, Key: string(key), Node: s.node + ":preview", Sequence: s.sequence.Add(1), Limit: r.Limit, Share: 1,
		Lifetime: Lifetime,
	}, func(g Grant, err error) { answered <- answer{g.Free, err} })
	timer := time.NewTimer(s.options.Timeout)
	defer timer.Stop()
	select {
	case a := <-answered:
		return a.free, a.err
	case <-timer.C:
		return 0, limiter.ErrLate
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
