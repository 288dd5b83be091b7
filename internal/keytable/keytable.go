// Package keytable finds what is known of a few keys, although most requests have others.
package keytable

import "hash/maphash"

// A Table has entries of keys. Most keys that it is asked for have none, so a filter comes before
// the map: it is small enough for the processor's caches, where a map of many keys is not. The zero
// value is a table without keys, which cannot have any.
type Table[E any] struct {
	entries map[string]*E
	seed    maphash.Seed
	filter  []uint64 // each key sets three bits of one word; the length is a power of two, or 0
}

// New returns a table for n keys.
func New[E any](n int) Table[E] {
	if n == 0 {
		return Table[E]{}
	}
	words := 1
	for words < n/4 {
		words *= 2
	}
	return Table[E]{make(map[string]*E, n), maphash.MakeSeed(), make([]uint64, words)}
}

// filtered returns the word of a key in the filter, and its bits.
func (t *Table[E]) filtered(key []byte) (word *uint64, bits uint64) {
	hash := maphash.Bytes(t.seed, key)
	return &t.filter[hash>>18&uint64(len(t.filter)-1)], 1<<(hash&63) | 1<<(hash>>6&63) | 1<<(hash>>12&63)
}

// Of returns the entry of a key, or nil if it has none.
func (t *Table[E]) Of(key []byte) *E {
	if len(t.filter) == 0 {
		return nil
	}
	if word, bits := t.filtered(key); *word&bits != bits {
		return nil
	}
	return t.entries[string(key)]
}

// Add returns the entry of a key, which is new and empty if the key had none.
func (t *Table[E]) Add(key []byte) *E {
	entry := t.entries[string(key)]
	if entry == nil {
		entry = new(E)
		t.entries[string(key)] = entry
		word, bits := t.filtered(key)
		*word |= bits
	}
	return entry
}
