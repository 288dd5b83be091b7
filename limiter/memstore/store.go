// Package memstore keeps the counts of one process in memory.
//
// It is the authority where a single node limits by itself, and the executable specification of every other store: all
// of them pass package storetest.
//
// # Structure
//
// A [Store] has a table per zone, a table has shards, and a shard is a mutex with the entries of its keys. A take of one
// key takes one lock and makes one look-up. A take of several locks all their shards before it decides, so all or nothing
// holds exactly.
//
// # Memory
//
// A key should cost its bytes and nothing else. So entries have no pointers, a shard keeps them in pages that the garbage
// collector never looks into, and an entry is found by a number. What does not fit in, a log first of all, is kept aside.
// When most keys of a shard are gone, the rest move together and the memory of the others is given back.
//
// # Bounds
//
// A table holds at most Rule.MaxKeys keys. When it is full, a new key takes the place of one that is back at its full
// limit, where nothing is lost, or else of the idlest among a sample. Keys at their limit (a take of cost 1 would be
// denied) are never pushed out, so nobody can wash a count away by a flood of fresh keys. Keys that find no room share
// one count per rule, the overflow: a flood neither passes uncounted nor makes memory grow.
//
// # Lock order
//
// Shards by their rank: by table in the order of opening, then by position; the overflow shards of all tables come after
// all others. Whoever looks for room in another shard than its own only tries its lock. Store.mu is taken with no other.
package memstore

import (
	"context"
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A Store is a [limiter.Store] in the memory of this process. Use [New].
type Store struct {
	seed   maphash.Seed // unknown to clients, so none can choose keys that share a shard or a bucket
	tables atomic.Pointer[map[string]*table]

	mu     sync.Mutex // held while tables is replaced; guards what follows
	opened uint64     // tables ever opened

	stop    chan struct{}
	closing sync.Once
	janitor sync.WaitGroup
}

var _ limiter.Store = (*Store)(nil)

// New returns a store without zones and starts its janitor. Close ends it.
func New(o Options) *Store {
	s := &Store{seed: maphash.MakeSeed(), stop: make(chan struct{})}
	s.tables.Store(&map[string]*table{})
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

// Open creates the table of a zone; a zone that is open stays as it is.
func (s *Store) Open(zone string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table(zone) != nil {
		return
	}
	s.opened++
	tables := maps.Clone(*s.tables.Load())
	tables[zone] = newTable(s.opened)
	s.tables.Store(&tables)
}

// Drop forgets a zone with its counts. Takes that are under way are decided on the counts as they were.
func (s *Store) Drop(zone string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tables := maps.Clone(*s.tables.Load())
	delete(tables, zone)
	s.tables.Store(&tables)
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
func (s *Store) Refund(_ context.Context, now, taken limiter.Instant, takes []limiter.Take) error {
	for i := range takes {
		k := &takes[i]
		t := s.table(k.Rule.Zone)
		if t == nil {
			continue
		}
		hash := s.hash(k)
		sh := t.shard(hash)
		sh.mu.Lock()
		if f := sh.find(hash, k); f.entry != nil {
			f.refund(k, now, taken)
		}
		sh.mu.Unlock()
	}
	return nil
}

// takeKnown decides the take of one key that has a count already, and reports whether it has.
func (s *Store) takeKnown(now limiter.Instant, k *limiter.Take) bool {
	t := s.table(k.Rule.Zone)
	if t == nil {
		return false
	}
	hash := s.hash(k)
	sh := t.shard(hash)
	sh.mu.Lock()
	f := sh.find(hash, k)
	if f.entry != nil {
		f.take(k, now)
	}
	sh.mu.Unlock()
	return f.entry != nil
}

// table returns the table of a zone, or nil when it is not open.
func (s *Store) table(zone string) *table { return (*s.tables.Load())[zone] }

// hash places a key: the upper bits choose the shard, the lower ones the bucket.
func (s *Store) hash(k *limiter.Take) uint64 {
	return maphash.Bytes(s.seed, k.Key) ^ uint64(k.Rule.ID)*0x9E3779B97F4A7C15 // 2^64 over the golden ratio: spreads IDs
}
