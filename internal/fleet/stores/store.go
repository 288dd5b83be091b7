// Package stores holds the stores of counts: in the memory of this process, or in a Redis that a fleet
// shares. It knows how many nodes share a store, and whether the store answers.
//
// A store outlives configurations. It has what keys have consumed, and no limits: each take brings its
// limits along. The package logs nothing, but tells an [Observer] what happens.
package stores

import (
	"context"
	"errors"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/fleet/reservation"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/limiter/redisstore"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A Store holds the counts of configurations.
type Store struct {
	limits    limits
	*inFlight // the permits; their methods are also methods of the store
	observer  Observer

	reservations *reservation.Table

	id     storeID
	name   string
	outage outageLog
	open   func(zone string) openZone
	close  func()

	redis *inRedis // nil if the counts are in memory
}

// inRedis has what only a store in Redis has.
type inRedis struct {
	leases *lease.Store      // equal to Store.limits
	counts *redisstore.Store // the counts in Redis, which lend the leases
	node   *node
	client *redisconn.Client
}

// inFlight is an unexported name, so that other packages cannot reach the embedded store by it.
type inFlight = concurrency.Limiter

// limits decide takes, and have the methods by which operators read and change counts.
type limits interface {
	limiter.Store
	limiter.Operator
}

// Close closes the store. The pool calls it when the last configuration that uses the store ends.
func (s *Store) Close() { s.close() }

// Name returns the name of the store in logs and metrics. Stores in two Redis servers have different
// names. Two key prefixes in one Redis have one name.
func (s *Store) Name() string { return s.name }

// Leases returns the leases of this node. It returns nil if the counts are in memory.
func (s *Store) Leases() *lease.Store {
	if s.redis == nil {
		return nil
	}
	return s.redis.leases
}

// instant returns t, which the caller has just read, by the clock of the store. Leases have a monotonic
// clock, but the decisions that requests see are by the wall clock. So only the methods below call
// limits.
func (s *Store) instant(t time.Time) limiter.Instant {
	if leases := s.Leases(); leases != nil {
		return leases.At(t)
	}
	return limiter.At(t)
}

// Take calls [limiter.Store.Take].
func (s *Store) Take(ctx context.Context, now time.Time, takes []limiter.Take) error {
	return s.limits.Take(ctx, s.instant(now), takes)
}

// Peek calls [limiter.Store.Peek].
func (s *Store) Peek(ctx context.Context, now time.Time, takes []limiter.Take) error {
	return s.limits.Peek(ctx, s.instant(now), takes)
}

// Preview decides as Take would decide now, and consumes nothing. Peek is faster, but if the counts are
// in Redis, it leaves more decisions open.
func (s *Store) Preview(ctx context.Context, now time.Time, takes []limiter.Take) error {
	if leases := s.Leases(); leases != nil {
		return leases.Preview(ctx, s.instant(now), takes)
	}
	return s.Peek(ctx, now, takes)
}

// PeekPermit calls [concurrency.Limiter.Peek].
func (s *Store) PeekPermit(now time.Time, r *concurrency.Rule, key []byte) limiter.Decision {
	return s.inFlight.Peek(now, r, key)
}

// PreviewPermit calls [concurrency.Limiter.Preview].
func (s *Store) PreviewPermit(ctx context.Context, now time.Time, r *concurrency.Rule, key []byte) (limiter.Decision, error) {
	return s.inFlight.Preview(ctx, now, r, key)
}

// Note notes that the store has answered a request, or why it has not. It tells the observer when an
// outage begins or ends. ErrClosed is no outage: the client belongs to a configuration that has ended.
func (s *Store) Note(now time.Time, err error) {
	if err == nil {
		if recovered, failures := s.outage.answered(now); recovered {
			s.observer.Recovered(s.name, failures)
		}
	} else if !errors.Is(err, redisconn.ErrClosed) && s.outage.failed(now) {
		s.observer.Failed(s.name, err)
	}
}

// Inspect calls [limiter.Operator.Inspect].
func (s *Store) Inspect(ctx context.Context, now time.Time, r *limiter.Rule, key []byte) (limiter.Inspection, error) {
	return s.limits.Inspect(ctx, s.instant(now), r, key)
}

// Reset calls [limiter.Operator.Reset].
func (s *Store) Reset(ctx context.Context, now time.Time, r *limiter.Rule, key []byte) error {
	return s.limits.Reset(ctx, s.instant(now), r, key)
}

// AddQuota calls [limiter.Operator.AddQuota].
func (s *Store) AddQuota(
	ctx context.Context, now time.Time, r *limiter.Rule, key []byte, events int64,
) (limiter.CountState, error) {
	return s.limits.AddQuota(ctx, s.instant(now), r, key, events)
}
