package zone

import (
	"hash/maphash"
	"maps"
)

// A keyTable has the entries of a few keys. Most keys that it is asked for have none, so a filter comes before
// the map: it is small enough for the processor's caches, where a map of many keys is not. The zero
// value is a table without keys, which cannot have any.
type keyTable[E any] struct {
	entries map[string]*E
	seed    maphash.Seed
	filter  []uint64      // each key sets three bits of one word; the length is a power of two, or 0
	changed map[string]*E // in place of entries; nil if the key has none
}

// newKeyTable returns a table for n keys.
func newKeyTable[E any](n int) keyTable[E] {
	if n == 0 {
		return keyTable[E]{}
	}
	words := 1
	for words < n/4 {
		words *= 2
	}
	return keyTable[E]{make(map[string]*E, n), maphash.MakeSeed(), make([]uint64, words), nil}
}

// filtered returns the word of a key in the filter, and its bits.
func (t *keyTable[E]) filtered(key []byte) (word *uint64, bits uint64) {
	hash := maphash.Bytes(t.seed, key)
	return &t.filter[hash>>18&uint64(len(t.filter)-1)], 1<<(hash&63) | 1<<(hash>>6&63) | 1<<(hash>>12&63)
}

// find returns the entry of a key, or nil if it has none.
func (t *keyTable[E]) find(key []byte) *E {
	if len(t.changed) > 0 {
		if entry, found := t.changed[string(key)]; found {
			return entry
		}
	}
	if len(t.filter) == 0 {
		return nil
	}
	if word, bits := t.filtered(key); *word&bits != bits {
		return nil
	}
	return t.entries[string(key)]
}

// withChanged returns t with other entries of some keys. A nil entry stands for none. It takes as long as
// the keys that were ever changed so, which slow find down a little.
func (t *keyTable[E]) withChanged(changed map[string]*E) keyTable[E] {
	with := *t
	with.changed = maps.Clone(t.changed)
	if with.changed == nil {
		with.changed = make(map[string]*E, len(changed))
	}
	maps.Copy(with.changed, changed)
	return with
}

// changes returns how many keys [keyTable.withChanged] has changed.
func (t *keyTable[E]) changes() int { return len(t.changed) }

// add returns the entry of a key, which is new and empty if the key had none.
func (t *keyTable[E]) add(key []byte) *E {
	entry := t.entries[string(key)]
	if entry == nil {
		entry = new(E)
		t.entries[string(key)] = entry
		word, bits := t.filtered(key)
		*word |= bits
	}
	return entry
}
