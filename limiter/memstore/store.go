// Package memstore keeps the counts of one process in memory.
//
// It is the authority where a single node limits by itself, and the executable specification of
// every other store: all of them pass package storetest.
//
// A [Store] has the [Counts] of zones. They are in a sharded table without pointers (package
// keyed), so a key costs little more than its bytes. A take of one key takes one lock and makes one
// look-up. A take of several keys locks all their shards before it decides, so it is exactly all or
// nothing.
//
// # Bounds
//
// A zone has at most Rule.MaxKeys keys. When it is full, a new key evicts a key that is back at its
// full limit, so that nothing is lost, or else the idlest key of a sample. Keys at their limit,
// where a take of cost 1 would be denied, are never evicted, so nobody can wash a count away with a
// flood of fresh keys.
//
// A key that finds no room shares one of 4096 counts per rule, the overflow. So a flood is counted,
// memory does not grow, and a new key is locked out only when the flood has exhausted the very
// count that it shares. A secret seed chooses the count. One client takes from all these counts
// together at most 32 times the limit of one count, so that it exhausts few of them: see
// [limiter.Client].
//
// # Lock order
//
// A take locks its shards in the order of [keyed.LockAll], then the overflow shards in that order.
// Store.mu is never locked together with another lock.
package memstore

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
)

// DefaultSweepInterval is the Options.SweepInterval when that is 0.
const DefaultSweepInterval = 10 * time.Second

// Options are the settings of a [Store]. The zero value is ready to use.
type Options struct {
	// SweepInterval is the time between two sweeps of the whole store. A shorter interval frees memory
	// sooner. Counts do not depend on it. 0 means DefaultSweepInterval.
	SweepInterval time.Duration

	// OnOverflow is called when a key has found no room in a zone, once per zone and minute. The
	// remedy is a larger Rule.MaxKeys. Take calls it and waits for it. It may be nil.
	OnOverflow func(zone string)
}

// A Store is a [limiter.Store] in the memory of this process. Use [New].
type Store struct {
	onOverflow func(zone string)

	mu    sync.Mutex         // guards zones
	zones map[string]*Counts // the open ones, by name

	stop    chan struct{}
	closing sync.Once
	janitor sync.WaitGroup
}

var (
	_ limiter.Promiser = (*Store)(nil)
	_ limiter.Operator = (*Store)(nil)
)

// New returns a store without zones and starts its janitor. Close ends it.
func New(o Options) *Store {
	if o.SweepInterval <= 0 {
		o.SweepInterval = DefaultSweepInterval
	}
	if o.OnOverflow == nil {
		o.OnOverflow = func(string) {}
	}
	s := &Store{onOverflow: o.OnOverflow, zones: make(map[string]*Counts), stop: make(chan struct{})}
	s.janitor.Go(func() { s.sweepEvery(o.SweepInterval) })
	return s
}

// Close ends the janitor and waits for it. Takes are still decided afterwards, since requests may
// outlive their configuration, but nothing is swept any more.
func (s *Store) Close() {
	s.closing.Do(func() { close(s.stop) })
	s.janitor.Wait()
}

// Open returns the zone called name. It makes a new one unless a zone of that name is open.
func (s *Store) Open(name string) *Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.zones[name]
	if z == nil {
		z = newZone(s, name)
		s.zones[name] = z
	}
	return z
}

func (s *Store) sweepEvery(interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case t := <-ticker.C:
			s.sweep(limiter.At(t))
		}
	}
}

func (s *Store) sweep(now limiter.Instant) {
	s.mu.Lock()
	open := slices.Collect(maps.Values(s.zones))
	s.mu.Unlock()
	for _, z := range open {
		z.sweep(now)
	}
}

// Take implements [limiter.Store]. It never fails, waits for nothing but the locks of other takes,
// and does not allocate when there are at most 8 takes and their keys are known. A take in a zone
// that is closed, as a request of an ended configuration may send, is decided on a fresh count that
// is not kept.
func (s *Store) Take(_ context.Context, now limiter.Instant, takes []limiter.Take) error {
	if len(takes) == 1 && s.takeKnown(now, &takes[0]) {
		return nil
	}
	s.decide(now, takes, true)
	return nil
}

// takeKnown decides k if its key has a count already, and reports whether it has.
func (s *Store) takeKnown(now limiter.Instant, k *limiter.Take) bool {
	z := s.zoneOf(k.Rule)
	if z == nil {
		return false
	}
	var key keyed.Key
	sh := z.locate(&key, k)
	sh.Lock()
	c := findLocked(sh, &key)
	if c.entry != nil {
		c.take(k, now)
		c.record(k, now)
	}
	sh.Unlock()
	return c.entry != nil
}

// Peek implements [limiter.Store]. A key without a count is decided as a fresh one, even if a take
// of it would find no room.
func (s *Store) Peek(_ context.Context, now limiter.Instant, takes []limiter.Take) error {
	s.decide(now, takes, false)
	return nil
}

// Refund implements [limiter.Store]. It does not refund takes from the overflow.
func (s *Store) Refund(_ context.Context, now limiter.Instant, takes []limiter.Take) error {
	for i := range takes {
		k := &takes[i]
		s.change(now, k, func(c countRef) {
			c.refund(k, now)
			c.noteUse(k.Rule, now)
		})
	}
	return nil
}

// Charge implements [limiter.Store]. A key that finds no room is not charged.
func (s *Store) Charge(_ context.Context, now limiter.Instant, takes []limiter.Take) error {
	for i := range takes {
		k := &takes[i]
		z := s.zoneOf(k.Rule)
		if z == nil {
			continue
		}
		var key keyed.Key
		sh := z.locate(&key, k)
		sh.Lock()
		c := findLocked(sh, &key)
		if c.entry == nil {
			if e := z.addLocked(sh, &key, k.Rule, now); e != nil {
				c = countOf(sh, e)
			}
		}
		if c.entry != nil {
			c.count().Charge(k.Rule, now, k.Cost)
			c.noteUse(k.Rule, now)
		}
		sh.Unlock()
	}
	return nil
}

// GiveBack implements [limiter.Promiser]. Events that were taken from the overflow are lost.
func (s *Store) GiveBack(_ context.Context, now limiter.Instant, k *limiter.Take) (back bool, err error) {
	s.change(now, k, func(c countRef) { back = c.giveBack(k, now) })
	return back, nil
}

// change calls change with the count that k has consumed from. It does nothing if k was denied, if
// the count is gone, or if a key of the zone was reset since.
func (s *Store) change(now limiter.Instant, k *limiter.Take, change func(countRef)) {
	z := s.zoneOf(k.Rule)
	if z == nil || !k.Decision.OK || z.wasReset(k.Decision.At, now) {
		return
	}
	var key keyed.Key
	sh := z.locate(&key, k)
	sh.Lock()
	defer sh.Unlock()
	if c := findLocked(sh, &key); c.entry != nil {
		change(c)
	}
}

// zoneOf returns the zone of r, or nil if that is not an open zone of s.
func (s *Store) zoneOf(r *limiter.Rule) *Counts {
	z, _ := r.Zone.(*Counts)
	if z == nil || z.store != s || z.closed.Load() {
		return nil
	}
	return z
}
