package memstore

import (
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/table"
)

// shardBits is the logarithm of how many shards a zone has: enough that takes on tens of cores seldom meet, and that the
// one whose key makes a shard grow does not wait for long.
const shardBits = 8

// A Zone holds the counts of one zone. Use [Store.Open].
type Zone struct {
	store    *Store
	name     string
	closed   atomic.Bool
	shards   [1 << shardBits]shard
	overflow shard // the counts that keys without room share, see overflow.go; not among the keys
	alarm    alarm

	keys          atomic.Int64 // entries in shards, and places reserved for such. Invariant: grows only below MaxKeys
	evictions     atomic.Uint64
	overflowTakes atomic.Uint64
}

// newZone returns the empty zone that was opened as the nth of its store.
func newZone(s *Store, name string, n uint64) *Zone {
	z := &Zone{store: s, name: name}
	for i := range z.shards {
		z.shards[i].rank = n<<shardBits | uint64(i)
	}
	z.overflow.rank = 1<<63 | n
	return z
}

// Name implements [limiter.Zone].
func (z *Zone) Name() string { return z.name }

// Close ends the zone with its counts. Takes that are under way are decided on the counts as they were.
func (z *Zone) Close() {
	z.store.mu.Lock()
	defer z.store.mu.Unlock()
	if !z.closed.Swap(true) {
		delete(z.store.zones, z.name)
	}
}

// shard returns the shard that k belongs to.
func (z *Zone) shard(k *table.Key) *shard { return &z.shards[k.Hash>>(64-shardBits)] }

// reserve finds a place for one more key in s, which the caller has locked, and reports whether there is one. The caller
// inserts an entry or releases the place.
//
// A bound that was lowered is worked off by the keys that come: each pushes out up to four.
func (z *Zone) reserve(s *shard, maxKeys int, now limiter.Instant) bool {
	bound := int64(maxKeys)
	for n := z.keys.Load(); n < bound; n = z.keys.Load() {
		if z.keys.CompareAndSwap(n, n+1) {
			return true
		}
	}
	if !z.evict(s, now) {
		return false
	}
	for range 3 {
		if z.keys.Load() <= bound || !z.evict(s, now) {
			break
		}
		z.release()
	}
	return true
}

// release gives back a place that is not used.
func (z *Zone) release() { z.keys.Add(-1) }
