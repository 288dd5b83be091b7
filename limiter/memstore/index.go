package memstore

import (
	"math/bits"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// minBuckets is the size of the smallest index that is not empty.
const minBuckets = 16

// An index finds entries by rule ID and key: a hash table whose buckets are chains. It is not safe for concurrent use.
//
// A Go map would do, but for four things: the garbage collector need not look at an index; it can be walked in pieces,
// which bounds how long a sweep holds the lock; eviction can look at a few entries anywhere for the cost of those; and it
// needs one hash of the key where shards of maps need two.
type index struct {
	buckets []slot // a power of two of them, or none
	len     int    // entries. Invariant: 2*len <= len(buckets), so a look-up seldom meets an entry of another key
	hand    int    // the bucket at which the next search for a victim begins

	pages
	asides
}

// bucket returns the chain that entries with this hash are in. There must be buckets.
func (x *index) bucket(hash uint32) *slot { return &x.buckets[hash&uint32(len(x.buckets)-1)] }

// find returns the entry of k, or none.
func (x *index) find(hash uint64, k *limiter.Take) ref {
	if len(x.buckets) == 0 {
		return ref{}
	}
	h, id, form := uint32(hash), k.Rule.ID, formOf(k.Rule.Algorithm)
	for s := *x.bucket(h); s != none; {
		e := x.at(s)
		if e.hash == h && e.id == id && e.form == form {
			if n := numbersIn(k.Rule.Algorithm); x.hasKey(s, e, n, k.Key) {
				return x.ref(s, e, n)
			}
		}
		s = e.next
	}
	return ref{}
}

// hasKey reports whether key is that of e, which is in the slot s and has n numbers.
func (x *index) hasKey(s slot, e *entry, n int, key []byte) bool {
	if e.length == textAside {
		return x.asides[s].key == string(key)
	}
	return string(e.text(n)) == string(key)
}

// ref returns e, which is in the slot s and has n numbers, with its count.
func (x *index) ref(s slot, e *entry, n int) ref {
	if n == 0 {
		return ref{e, x.asides[s].count}
	}
	return ref{entry: e}
}

// insert adds an entry without consumption for k, which must not have one yet.
func (x *index) insert(hash uint64, k *limiter.Take) ref {
	if 2*(x.len+1) > len(x.buckets) {
		x.resize(max(minBuckets, 2*len(x.buckets)))
	}
	n, length := numbersIn(k.Rule.Algorithm), len(k.Key)
	if length > maxText {
		length = 0
	}
	s := x.get(sizeOf(n, length))
	e := x.at(s)
	e.id, e.hash, e.form, e.length = k.Rule.ID, uint32(hash), formOf(k.Rule.Algorithm), uint16(length)
	if length < len(k.Key) {
		e.length = textAside
	}
	copy(e.text(n), k.Key)
	if n == 0 || e.length == textAside {
		x.asides.set(s, newAside(k, n, e.length))
	}
	x.link(s, e)
	x.len++
	return x.ref(s, e, n)
}

// link puts e, which is in the slot s, into its chain.
func (x *index) link(s slot, e *entry) {
	b := x.bucket(e.hash)
	e.next, *b = *b, s
}

// remove takes out e, which must be there.
func (x *index) remove(e *entry) {
	chain := x.bucket(e.hash)
	for x.at(*chain) != e {
		chain = &x.at(*chain).next
	}
	s := *chain
	*chain = e.next
	x.put(s)
	delete(x.asides, s)
	x.len--
}

// sweep removes the entries that are spent at now from the n pages that begin with from, or from as many as there are.
// It returns how many it removed.
func (x *index) sweep(from, n int, now tick) (removed int) {
	x.each(from, n, func(_ slot, e *entry) {
		if e.spent(now) {
			x.remove(e)
			removed++
		}
	})
	return removed
}

// resize puts all entries into n buckets, a power of two.
func (x *index) resize(n int) {
	x.buckets, x.hand = make([]slot, n), 0
	x.each(0, len(x.all), x.link)
}

// shrink gives memory back when less than a quarter of what there is for entries is used, unless it is little: a page of
// each size.
func (x *index) shrink() {
	if x.len == 0 {
		*x = index{}
	} else if len(x.all) > sizeCount && x.len < x.room/4 {
		x.compact()
	}
}

// compact moves all entries to pages that they fill.
func (x *index) compact() {
	to := index{buckets: make([]slot, max(minBuckets, 1<<bits.Len(uint(2*x.len-1)))), len: x.len}
	x.each(0, len(x.all), func(s slot, _ *entry) {
		moved := to.get(x.sizes[s/pageSize])
		copy(to.cells(moved), x.cells(s))
		to.link(moved, to.at(moved))
		if a, ok := x.asides[s]; ok {
			to.asides.set(moved, a)
		}
	})
	*x = to
}
