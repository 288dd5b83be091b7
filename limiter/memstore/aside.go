package memstore

import "github.com/fleetlimit/fleetlimit/limiter"

// An aside is what does not fit into an entry: a log, a count of many sub-windows, a very long key.
type aside struct {
	key   string        // if the entry's length is textAside
	count limiter.Count // nil if the entry has the count
}

// newAside returns what of k does not stand in its entry, which has n numbers and a key of this length.
func newAside(k *limiter.Take, n int, length uint16) (a aside) {
	if length == textAside {
		a.key = string(k.Key)
	}
	if n == 0 {
		a.count = limiter.NewCount(k.Rule.Algorithm)
	}
	return a
}

// asides are what entries of a shard keep aside, by their slot. Few shards have some: the map is made when one has.
type asides map[slot]aside

func (x *asides) set(s slot, a aside) {
	if *x == nil {
		*x = make(asides)
	}
	(*x)[s] = a
}
