package fleetlimit

import "hash/maphash"

// A keyTable has the entries of keys. Most requests have a key without any, so a filter comes before
// the map: it is small enough for the processor's caches, where that of many keys is not.
type keyTable struct {
	entries map[string]*keyEntries
	seed    maphash.Seed
	filter  []uint64 // each key sets three bits of one word; the length is a power of two, or 0
}

// newKeyTable returns a table for n keys.
func newKeyTable(n int) keyTable {
	if n == 0 {
		return keyTable{}
	}
	words := 1
	for words < n/4 {
		words *= 2
	}
	return keyTable{make(map[string]*keyEntries, n), maphash.MakeSeed(), make([]uint64, words)}
}

// filtered returns the word of a key in the filter, and its bits.
func (t *keyTable) filtered(key []byte) (word *uint64, bits uint64) {
	hash := maphash.Bytes(t.seed, key)
	return &t.filter[hash>>18&uint64(len(t.filter)-1)], 1<<(hash&63) | 1<<(hash>>6&63) | 1<<(hash>>12&63)
}

// of returns the entries of a key, or nil if it has none.
func (t *keyTable) of(key []byte) *keyEntries {
	if len(t.filter) == 0 {
		return nil
	}
	if word, bits := t.filtered(key); *word&bits != bits {
		return nil
	}
	return t.entries[string(key)]
}

// add returns the entries of a key, which is added if it is new.
func (t *keyTable) add(key []byte) *keyEntries {
	entries := t.entries[string(key)]
	if entries == nil {
		entries = new(keyEntries)
		t.entries[string(key)] = entries
		word, bits := t.filtered(key)
		*word |= bits
	}
	return entries
}
