// Package redisstore keeps the counts of a fleet in Redis, where scripts decide takes by Redis's
// own clock.
//
// # Structure
//
// All counts of a key are in one hash, so that one script call decides all zones that count by that
// key. Takes of several keys go out at the same time, each to the primary that has its key. If one
// of the takes is denied, the others are refunded. Package lua has the scripts, and package
// redisconn sends them. Package limiter derives the decisions from the states that the scripts
// return, as it does for package memstore, so both stores answer alike.
//
// Nodes that decide by themselves spend leases: see [Store.Lend]. The store counts a leased event
// as consumed.
//
// # Failures
//
// A take whose call fails or gets no answer in time has an error. The script may have run all the
// same: then events are consumed that no request has used, but never the reverse. A call that may
// have run is not repeated. The same holds for lease requests.
package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

var (
	_ limiter.Lender   = (*Store)(nil)
	_ limiter.Promiser = (*Store)(nil)
)

// A Store is a [limiter.Lender] in Redis. It has no goroutines and nothing to close. Use [New].
type Store struct {
	client  *redisconn.Client
	prefix  string
	known   *knownKeys
	foreign *atomic.Uint64 // see Foreign

	// clock returns the instant for the scripts, or "" if they use the clock of Redis. Only tests set
	// it.
	clock func(now limiter.Instant) string
}

// New returns a store whose Redis keys begin with prefix and a colon. prefix must not have braces.
func New(client *redisconn.Client, prefix string) *Store {
	return &Store{
		client:  client,
		prefix:  prefix,
		known:   newKnownKeys(),
		foreign: new(atomic.Uint64),
		clock:   func(limiter.Instant) string { return "" },
	}
}

// maxPeriod is the longest period of a bucket in µs whose fractions fit into a value: see
// token_bucket.lua.
const maxPeriod = 1 << 44

// Check returns an error when Redis cannot keep the counts of a rule exactly.
func Check(r *limiter.Rule) error {
	if r.Algorithm.Kind != limiter.TokenBucket {
		return nil
	}
	if _, period := r.Rate(); period > maxPeriod {
		return fmt.Errorf("%d events per %v cannot be counted exactly in Redis: use a shorter window, a number of events that "+
			"has more divisors in common with the window (such as 1000), or another algorithm; %v in lowest terms is above %v",
			r.Limit.Events, r.Limit.Window, time.Duration(period)*time.Microsecond, maxPeriod*time.Microsecond)
	}
	return nil
}

// Foreign returns how many values have been found in Redis that no script of this store can have
// written. They count as absent, and the next write replaces them.
func (s *Store) Foreign() uint64 { return s.foreign.Load() }

// Take implements [limiter.Store]. It decides at Redis's instant, not at now.
func (s *Store) Take(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.decide(ctx, now, takes, true)
}

// Peek implements [limiter.Store]. It decides at Redis's instant, not at now.
func (s *Store) Peek(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.decide(ctx, now, takes, false)
}

// Refund implements [limiter.Store].
func (s *Store) Refund(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	denied := func(k limiter.Take) bool { return !k.Decision.OK }
	groups := groupByKey(slices.DeleteFunc(slices.Clone(takes), denied))
	var calls []*redisconn.Call
	for _, g := range groups {
		calls = append(calls, s.refundCalls(now, g)...)
	}
	s.client.Do(ctx, calls...)
	for _, c := range calls {
		if c.Err != nil {
			return c.Err
		}
	}
	return nil
}

// GiveBack implements [limiter.Promiser].
func (s *Store) GiveBack(ctx context.Context, now limiter.Instant, k *limiter.Take) (back bool, err error) {
	c := s.giveBackCall(now, k)
	s.client.Do(ctx, c)
	if err := late(c.Err); err != nil {
		return false, err
	}
	r := newReader(c.Reply)
	back = r.next() == 1
	foreign, err := r.end("give_back.lua")
	s.foreign.Add(uint64(foreign))
	return back && err == nil, err
}

// Charge implements [limiter.Store].
func (s *Store) Charge(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	groups := groupByKey(takes)
	calls := make([]*redisconn.Call, len(groups))
	for i, g := range groups {
		calls[i] = s.chargeCall(now, g)
	}
	s.client.Do(ctx, calls...)
	var failed error
	for i, c := range calls {
		if c.Err == nil {
			s.known.add(groups[i][0].Key)
		}
		failed = cmp.Or(failed, late(c.Err))
	}
	return failed
}

// decide decides takes as one. If consume is set and all takes are allowed, it consumes them.
func (s *Store) decide(ctx context.Context, now limiter.Instant, takes []limiter.Take, consume bool) error {
	groups := groupByKey(takes)
	calls := make([]*redisconn.Call, len(groups))
	for i, g := range groups {
		calls[i] = s.takeCall(now, g, consume)
	}
	s.client.Do(ctx, calls...)
	results, allowed := make([]result, len(groups)), true
	for i, g := range groups {
		err := late(calls[i].Err)
		if err == nil {
			s.known.add(g[0].Key)
			results[i], err = readTakes(calls[i].Reply, g, consume)
		}
		s.foreign.Add(uint64(results[i].foreign))
		for _, k := range g {
			k.Err = err
		}
		allowed = allowed && (results[i].allowed || err != nil)
	}
	if consume && !allowed {
		s.rollBack(ctx, now, groups, results)
	}
	return limiter.FirstError(takes)
}

// rollBack refunds the takes that were consumed although a take of another key was denied, and
// changes their decisions accordingly. It waits for the refunds for a while, so that a client that
// comes back finds as many events left as it was told.
func (s *Store) rollBack(ctx context.Context, now limiter.Instant, groups []group, results []result) {
	var calls []*redisconn.Call
	for i, g := range groups {
		if results[i].allowed {
			calls = append(calls, s.refundCalls(now, g)...)
			results[i].rollBack(g)
		}
	}
	if len(calls) == 0 {
		return
	}
	late := time.NewTimer(s.client.Timeout())
	defer late.Stop()
	select {
	case <-s.client.Send(calls...):
	case <-late.C:
	case <-ctx.Done():
	}
}

// Lag implements [limiter.Lender].
func (s *Store) Lag() time.Duration { return s.client.Lag() }

// Refusal implements [limiter.Lender].
func (s *Store) Refusal(key []byte) error {
	if !s.client.Failing() {
		return nil
	}
	return s.client.Refusal(hashName(s.prefix, key))
}

// late returns err as a [limiter.ErrLate] if it means that the answer comes too late for the
// caller, and as a [limiter.ErrNotAsked] if it means that the call had no effect.
func late(err error) error {
	switch {
	case errors.Is(err, redisconn.ErrUnsent), errors.Is(err, redisconn.ErrBusy):
		return fmt.Errorf("%w: %w: %w", limiter.ErrLate, limiter.ErrNotAsked, err)
	case errors.Is(err, redisconn.ErrTimeout):
		return fmt.Errorf("%w: %w", limiter.ErrLate, err)
	case errors.Is(err, redisconn.ErrOpen), errors.Is(err, redisconn.ErrNoPrimary), errors.Is(err, redisconn.ErrMemory):
		return fmt.Errorf("%w: %w", limiter.ErrNotAsked, err)
	}
	return err
}
