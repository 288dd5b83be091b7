package memstore

import (
	"math/bits"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// minBuckets is the size of the smallest index that is not empty.
const minBuckets = 8

// An index finds entries by rule ID and key: a hash table whose buckets are chains. It is not safe for concurrent use.
//
// A Go map would do, but for three things: an index can be walked in pieces, which bounds how long a sweep holds the
// lock; eviction can look at a few entries anywhere for the cost of those; and a pointer per bucket is 8 to 16 bytes a
// key rather than the 40 to 80 of a map with such keys. It also needs one hash of the key where shards of maps need two.
type index struct {
	buckets []*entry // a power of two of them, or none
	len     int      // entries. Invariant: len <= len(buckets)
	hand    int      // the bucket at which the next search for a victim begins
}

// bucket returns the chain that entries with this hash are in. There must be buckets.
func (x *index) bucket(hash uint32) **entry {
	return &x.buckets[hash&uint32(len(x.buckets)-1)]
}

// find returns the entry of k, or nil.
func (x *index) find(hash uint64, k *limiter.Take) *entry {
	if len(x.buckets) == 0 {
		return nil
	}
	h, id := uint32(hash), k.Rule.ID
	for e := *x.bucket(h); e != nil; e = e.next {
		if e.hash == h && e.id == id && e.key == string(k.Key) {
			return e
		}
	}
	return nil
}

// insert adds e, which must not be there yet.
func (x *index) insert(e *entry) {
	if x.len == len(x.buckets) {
		x.resize(max(minBuckets, 2*len(x.buckets)))
	}
	b := x.bucket(e.hash)
	e.next, *b = *b, e
	x.len++
}

// remove takes out e, which must be there.
func (x *index) remove(e *entry) {
	at := x.bucket(e.hash)
	for *at != e {
		at = &(*at).next
	}
	*at, e.next = e.next, nil
	x.len--
}

// sweep removes the entries that are spent at now from the n buckets that begin with from, or from as many as there are.
// It returns how many it removed.
func (x *index) sweep(from, n int, now tick) (removed int) {
	for i := from; i < min(from+n, len(x.buckets)); i++ {
		for at := &x.buckets[i]; *at != nil; {
			e := *at
			if !e.spent(now) {
				at = &e.next
				continue
			}
			*at, e.next = e.next, nil
			removed++
		}
	}
	x.len -= removed
	return removed
}

// shrink gives back buckets when fewer than a quarter of them would do.
func (x *index) shrink() {
	switch {
	case x.len == 0:
		x.buckets, x.hand = nil, 0
	case x.len < len(x.buckets)/4 && len(x.buckets) > minBuckets:
		x.resize(max(minBuckets, 1<<bits.Len(uint(x.len))))
	}
}

// resize moves all entries to n buckets, a power of two.
func (x *index) resize(n int) {
	old := x.buckets
	x.buckets, x.hand = make([]*entry, n), 0
	for _, e := range old {
		for e != nil {
			next := e.next
			b := x.bucket(e.hash)
			e.next, *b = *b, e
			e = next
		}
	}
}
