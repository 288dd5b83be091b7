package memstore

import (
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// shardBits is the logarithm of how many shards a table has: enough that takes on tens of cores seldom meet.
const shardBits = 6

// A table holds the counts of one zone.
type table struct {
	shards   [1 << shardBits]shard
	overflow shard // one entry per rule ID, for the keys that found no room; not among the keys

	keys          atomic.Int64 // entries in shards, and places reserved for such. Invariant: grows only below MaxKeys
	evictions     atomic.Uint64
	overflowTakes atomic.Uint64
}

// newTable returns the empty table that was opened as the nth of its store.
func newTable(n uint64) *table {
	t := new(table)
	for i := range t.shards {
		t.shards[i].rank = n<<shardBits | uint64(i)
	}
	t.overflow.rank = 1<<63 | n
	return t
}

// shard returns the shard of the keys with this hash.
func (t *table) shard(hash uint64) *shard { return &t.shards[hash>>(64-shardBits)] }

// reserve finds a place for one more key in s, which the caller has locked, and reports whether there is one. The caller
// inserts an entry or releases the place.
//
// A bound that was lowered is worked off by the keys that come: each pushes out up to four.
func (t *table) reserve(s *shard, maxKeys int, now limiter.Instant) bool {
	bound := int64(maxKeys)
	for n := t.keys.Load(); n < bound; n = t.keys.Load() {
		if t.keys.CompareAndSwap(n, n+1) {
			return true
		}
	}
	if !t.evict(s, now) {
		return false
	}
	for range 3 {
		if t.keys.Load() <= bound || !t.evict(s, now) {
			break
		}
		t.release()
	}
	return true
}

// release gives back a place that is not used.
func (t *table) release() { t.keys.Add(-1) }
