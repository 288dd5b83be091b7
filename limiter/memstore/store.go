// Package memstore keeps the counts of one process in memory.
//
// It is the authority where a single node limits by itself, and the executable specification of every other store: all
// of them pass package storetest.
//
// # Structure
//
// A [Store] has zones, a zone has shards, and a shard is a mutex with the table of its entries (package table). A take of
// one key takes one lock and makes one look-up. A take of several locks all their shards before it decides, so all or
// nothing holds exactly.
//
// # Memory
//
// A key should cost its bytes and nothing else. So an entry has no pointers, and its count and key stand in it. Counts
// that do not fit in, a log first of all, are kept aside. When most keys of a shard are gone, their memory is given back.
//
// # Bounds
//
// A zone holds at most Rule.MaxKeys keys. When it is full, a new key takes the place of one that is back at its full
// limit, where nothing is lost, or else of the idlest among a sample. Keys at their limit (a take of cost 1 would be
// denied) are never pushed out, so nobody can wash a count away by a flood of fresh keys. A key
// that finds no room shares one of 4096 counts per rule, the overflow: a flood neither passes
// uncounted nor makes memory grow, and a new key is locked out only when the flood has exhausted
// the very count that it shares. The hash that chooses the count has a seed.
//
// # Lock order
//
// Shards by their rank: by zone in the order of opening, then by position; the overflow shards of all zones come after all
// others. Whoever looks for room in another shard than its own only tries its lock. Store.mu is taken with no other.
package memstore

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/table"
)

// A Store is a [limiter.Store] in the memory of this process. Use [New].
type Store struct {
	seed       maphash.Seed // unknown to clients, so none can choose keys that share a shard, a group or an overflow count
	onOverflow func(zone string)

	mu     sync.Mutex       // guards what follows
	zones  map[string]*Zone // that are open, by name
	opened uint64           // zones ever opened

	stop    chan struct{}
	closing sync.Once
	janitor sync.WaitGroup
}

var _ limiter.Store = (*Store)(nil)

// New returns a store without zones and starts its janitor. Close ends it.
func New(o Options) *Store {
	s := &Store{seed: maphash.MakeSeed(), onOverflow: o.onOverflow(), zones: make(map[string]*Zone), stop: make(chan struct{})}
	interval := o.sweepInterval()
	s.janitor.Go(func() { s.sweepEvery(interval) })
	return s
}

// Close ends the janitor and returns when it has ended. Takes are still decided afterwards, since requests may outlive
// the configuration they came in under; but nothing is swept any more.
func (s *Store) Close() {
	s.closing.Do(func() { close(s.stop) })
	s.janitor.Wait()
}

// Open returns the zone of this name, which is new unless it is open.
func (s *Store) Open(name string) *Zone {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.zones[name]
	if z == nil {
		s.opened++
		z = newZone(s, name, s.opened)
		s.zones[name] = z
	}
	return z
}

// openZones returns all zones that are open.
func (s *Store) openZones() []*Zone {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.zones))
}

// Take implements [limiter.Store]. It never fails, never waits for anything but the locks of other takes, and does not
// allocate when the keys are known and at most 8. A take in a zone that is not open, as a request of an ended
// configuration may ask for, is decided on a fresh count and remembered nowhere.
func (s *Store) Take(_ context.Context, now limiter.Instant, takes []limiter.Take) error {
	if len(takes) == 1 && s.takeKnown(now, &takes[0]) {
		return nil
	}
	s.decide(now, takes, true)
	return nil
}

// Peek implements [limiter.Store]. A key without a count is answered as a fresh one, even where a take of it would find
// no room and be counted in the overflow.
func (s *Store) Peek(_ context.Context, now limiter.Instant, takes []limiter.Take) error {
	s.decide(now, takes, false)
	return nil
}

// Refund implements [limiter.Store]. What was taken from the overflow is not given back.
func (s *Store) Refund(_ context.Context, now limiter.Instant, takes []limiter.Take) error {
	for i := range takes {
		k := &takes[i]
		z := s.zoneOf(k.Rule)
		if z == nil || !k.Decision.OK {
			continue
		}
		var key table.Key
		s.identify(&key, k)
		sh := z.shard(&key)
		sh.mu.Lock()
		if f := sh.find(&key); f.entry != nil {
			f.refund(k, now)
		}
		sh.mu.Unlock()
	}
	return nil
}

// takeKnown decides the take of one key that has a count already, and reports whether it has.
func (s *Store) takeKnown(now limiter.Instant, k *limiter.Take) bool {
	z := s.zoneOf(k.Rule)
	if z == nil {
		return false
	}
	var key table.Key
	s.identify(&key, k)
	sh := z.shard(&key)
	sh.mu.Lock()
	f := sh.find(&key)
	if f.entry != nil {
		f.take(k, now)
	}
	sh.mu.Unlock()
	return f.entry != nil
}

// zoneOf returns the zone of r, or nil when it is not one that is open in s.
func (s *Store) zoneOf(r *limiter.Rule) *Zone {
	z, _ := r.Zone.(*Zone)
	if z == nil || z.store != s || z.closed.Load() {
		return nil
	}
	return z
}

// identify writes what the entry of k is found by. The upper bits of its hash choose the shard, the lower half the place
// there. (The key is written where it is used, since to copy it would take longer than to find the entry.)
func (s *Store) identify(key *table.Key, k *limiter.Take) {
	f, n := layoutOf(k.Rule.Algorithm)
	key.Hash = maphash.Bytes(s.seed, k.Key) ^ spread(k.Rule.ID)
	key.ID, key.Form, key.Numbers, key.Text = k.Rule.ID, uint16(f), n, k.Key
}

// spread returns a hash of a rule ID; those of small numbers are far from each other too.
func spread(id uint32) uint64 { return uint64(id) * 0x9E3779B97F4A7C15 } // 2^64 over the golden ratio
