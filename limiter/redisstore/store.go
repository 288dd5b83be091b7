// Package redisstore keeps the counts of a fleet in Redis, where scripts decide takes by Redis's own clock.
//
// # Structure
//
// All counts of a key are in one hash, so that one call of a script decides all zones that count by that key. Takes of
// several keys go out at the same time, each to the primary that has its key; when one of them denies, what the others
// took is given back. Package lua has the scripts, package redisconn the way to Redis, and what a decision says is worked
// out here by package limiter, from the state that the script returns: package memstore and this one answer alike.
//
// Nodes that decide by themselves borrow events: see [Store.Lend], which answers as [limiter.Lend] does. Takes of other nodes
// find what is lent to be gone.
//
// # Failures
//
// Takes whose call failed or was not answered in time have an error. The script may have run nevertheless: then events
// are consumed that nobody has used, never the other way round. No call is ever repeated that may have run. The same holds for
// what Lend answers an error to.
package redisstore

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// A Store is a [limiter.Lender] in Redis. It has no goroutines and nothing to close. Use [New].
type Store struct {
	client *redisconn.Client
	prefix string
	known  *known
	node   uint64 // tells this store from others that lend from the same counts: what it owes is debited once

	foreign *atomic.Uint64 // see Foreign

	// For tests: the clock that the scripts go by, instead of Redis's.
	clock func(now limiter.Instant) string
}

// New returns a store of the counts whose Redis keys begin with prefix and a colon. prefix must not have braces.
func New(client *redisconn.Client, prefix string) *Store {
	return &Store{
		client:  client,
		prefix:  prefix,
		known:   newKnown(),
		node:    rand.Uint64(),
		foreign: new(atomic.Uint64),
		clock:   func(limiter.Instant) string { return "" },
	}
}

// Foreign returns how many values have been found in Redis that no script of this store can have written. They were taken for
// nothing, and are replaced by the next write.
func (s *Store) Foreign() uint64 { return s.foreign.Load() }

// Take implements [limiter.Store]. The instant is Redis's, not now.
func (s *Store) Take(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.ask(ctx, now, takes, true)
}

// Peek implements [limiter.Store]. The instant is Redis's, not now.
func (s *Store) Peek(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	return s.ask(ctx, now, takes, false)
}

// Refund implements [limiter.Store].
func (s *Store) Refund(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	denied := func(k limiter.Take) bool { return !k.Decision.OK }
	groups := groupByKey(slices.DeleteFunc(slices.Clone(takes), denied))
	calls := make([]*redisconn.Call, len(groups))
	for i, g := range groups {
		calls[i] = s.refundCall(now, g)
	}
	s.client.Do(ctx, calls...)
	return firstError(calls)
}

// ask decides takes as one; when they are allowed and consume is set, they are consumed.
func (s *Store) ask(ctx context.Context, now limiter.Instant, takes []limiter.Take, consume bool) error {
	begin := time.Now()
	groups := groupByKey(takes)
	calls := make([]*redisconn.Call, len(groups))
	for i, g := range groups {
		calls[i] = s.takeCall(now, g, consume)
	}
	s.client.Do(ctx, calls...)
	answers := make([]answer, len(groups))
	allowed := true
	for i, g := range groups {
		err := late(calls[i].Err)
		if err == nil {
			s.known.add(g[0].Key)
			answers[i], err = read(calls[i].Reply, g, consume)
		}
		s.foreign.Add(uint64(answers[i].foreign))
		g.fail(err)
		allowed = allowed && (answers[i].allowed || err != nil)
	}
	if consume && !allowed {
		s.undo(ctx, now, groups, answers, begin.Add(s.client.Timeout()))
	}
	return limiter.FirstError(takes)
}

// undo gives back what was consumed under some keys although another one denied, and answers as if it had not been. It waits
// until that is done, so that a client which comes back finds what it was told, but not beyond the deadline.
func (s *Store) undo(ctx context.Context, now limiter.Instant, groups []group, answers []answer, deadline time.Time) {
	var calls []*redisconn.Call
	for i, g := range groups {
		if answers[i].allowed {
			calls = append(calls, s.refundCall(now, g))
			answers[i].undo(g)
		}
	}
	if len(calls) == 0 {
		return
	}
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	select {
	case <-s.client.Send(calls...):
	case <-late.C:
	case <-ctx.Done():
	}
}

func firstError(calls []*redisconn.Call) error {
	for _, c := range calls {
		if c.Err != nil {
			return c.Err
		}
	}
	return nil
}
