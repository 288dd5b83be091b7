package memstore

import (
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/internal/keyed"
	"github.com/fleetlimit/fleetlimit/limiter/internal/share"
)

const (
	// shardBits is the logarithm of the number of shards of a zone. There are enough shards
	// that takes on tens of cores seldom meet in one, and that a shard grows quickly.
	shardBits = 8

	// idleFor is how long a key that is back at its full limit is kept after its last use, in µs. Most
	// keys are back at their full limit before their next request, and adding a key takes far longer
	// than finding it.
	idleFor limiter.Instant = 30_000_000
)

// Counts are the counts of one zone. Use [Store.Open].
type Counts struct {
	store    *Store
	name     string
	closed   atomic.Bool
	counts   *counts
	overflow *counts      // the counts that keys without room share, all in one shard
	shares   share.Shares // what clients take of overflow; guarded by the lock of its shard

	keysAtLimit   atomic.Int64 // number of keys at their limit at the last sweep
	lastReset     atomic.Int64 // the instant of the newest reset of a key: takes until then are not refunded
	lastWarning   atomic.Int64 // the instant at which OnOverflow was called last
	evictions     atomic.Uint64
	overflowTakes atomic.Uint64

	changed atomic.Pointer[limitChange] // the change that no sweep has seen yet; nil if there is none
}

// Counts are kept in entries: see [countRef]. The State of a shard is its spilled counts.
type (
	spill  = keyed.Spill[limiter.Count]
	counts = keyed.Map[usage, struct{}, spill]
	shard  = keyed.Shard[usage, struct{}, spill]
	entry  = keyed.Entry[usage]
)

func newZone(s *Store, name string) *Counts {
	return &Counts{
		store: s, name: name, counts: keyed.New[usage, struct{}, spill](shardBits), overflow: keyed.New[usage, struct{}, spill](0),
	}
}

// Name implements [limiter.Counts].
func (z *Counts) Name() string { return z.name }

// Close drops the counts of the zone. Takes that are under way are still decided on them.
func (z *Counts) Close() {
	z.store.mu.Lock()
	defer z.store.mu.Unlock()
	if !z.closed.Swap(true) {
		delete(z.store.zones, z.name)
	}
}

// KeysAtLimit returns how many keys were at their limit at the last sweep: a take of one event
// would have been denied.
func (z *Counts) KeysAtLimit() int { return int(z.keysAtLimit.Load()) }

// Stats describe a zone since it was opened.
type Stats struct {
	// Keys is how many keys have a count.
	Keys int

	// Evictions is how many keys were evicted although they were not back at their full limit.
	Evictions uint64

	// OverflowTakes is how many takes were decided on an overflow count, because their key found no
	// room.
	OverflowTakes uint64
}

// Stats returns the stats of the zone. They are all 0 if the zone is closed.
func (z *Counts) Stats() Stats {
	if z.closed.Load() {
		return Stats{}
	}
	return Stats{Keys: z.counts.Len(), Evictions: z.evictions.Load(), OverflowTakes: z.overflowTakes.Load()}
}

// locate sets key to the key of k's count and returns its shard. It writes the key in place,
// because copying it would take longer than finding the entry.
func (z *Counts) locate(key *keyed.Key, k *limiter.Take) *shard {
	key.ID, key.Text = k.Rule.ID, k.Key
	key.Layout, key.Numbers = layoutOf(k.Rule.Algorithm)
	key.Hash = z.counts.Hash(key.ID, key.Text)
	return z.counts.Shard(key.Hash)
}

// addLocked adds a count for a key that has none in its shard sh. It returns nil when there is no
// room for one.
func (z *Counts) addLocked(sh *shard, key *keyed.Key, r *limiter.Rule, now limiter.Instant) *entry {
	e := z.counts.AddLocked(sh, key, r.MaxKeys,
		func(_ *shard, e *entry) (cost int64, evictable bool) { return e.Value().evictionCost(now) },
		func(sh *shard, e *entry) {
			if !e.Value().forgettable(now) {
				z.evictions.Add(1)
			}
			dropSpilledLocked(sh, e)
		})
	if e != nil {
		spillLocked(sh, e, r.Algorithm)
	}
	return e
}

// sweep removes the keys that are forgettable and idle, and counts those at their limit.
func (z *Counts) sweep(now limiter.Instant) {
	atLimit, changed := int64(0), z.changed.Swap(nil)
	idle := func(sh *shard, e *entry) bool {
		u := e.Value()
		if changed != nil {
			changed.prolong(sh, e, now)
		}
		if u.idleSince > now && u.idleSince != pinned {
			atLimit++
		}
		if !u.forgettable(now) || now-u.idleSince < idleFor {
			return false
		}
		dropSpilledLocked(sh, e)
		return true
	}
	z.counts.Sweep(0, 1, idle)
	z.keysAtLimit.Store(atLimit)
	z.overflow.Sweep(0, 1, idle)
	if sh := z.overflow.Shards(); sh != nil {
		sh[0].Lock()
		defer sh[0].Unlock()
		z.shares.Sweep(now)
	}
}

// Keys calls yield with the keys that have a count, until it returns false. A key may come several
// times.
func (z *Counts) Keys(yield func(key []byte) bool) { z.counts.Texts(yield) }
