package fleetlimit

import "hash/maphash"

// A keyTable has the entries of keys. Little of a large table is in the processor's caches when a
// request comes. So a request whose key has no entries, as most have none, reads only a filter. The
// others read the index too, and then what they need is side by side.
type keyTable struct {
	seed   maphash.Seed
	filter []uint64    // each key sets three bits of one word; the length is a power of two, or 0
	index  []uint64    // a hash table of slots; the length is a power of two, and half of it is free
	keys   []keyRecord // in the order in which they were added
}

// A keyRecord is a key with its entries.
type keyRecord struct {
	key string
	keyEntries
	override [1]expiring[keyOverride] // the array of overrides, unless there are more
}

// newKeyTable returns a table for about n keys.
func newKeyTable(n int) keyTable {
	if n == 0 {
		return keyTable{}
	}
	words := 1
	for words < n/4 {
		words *= 2
	}
	t := keyTable{seed: maphash.MakeSeed(), filter: make([]uint64, words), keys: make([]keyRecord, 0, n)}
	t.makeIndex(n)
	return t
}

// makeIndex makes an index for n keys.
func (t *keyTable) makeIndex(n int) {
	slots := 2
	for slots < 2*n {
		slots *= 2
	}
	t.index = make([]uint64, slots)
	for i := range t.keys {
		t.addToIndex(maphash.String(t.seed, t.keys[i].key), i)
	}
}

// numberBits is how many bits of a slot are the number of its key, from 1 on. The others are those of
// the key's hash, which tell it from most other keys. A slot that is 0 is free.
const numberBits = 32

// addToIndex adds the key at i, which has a hash.
func (t *keyTable) addToIndex(hash uint64, i int) {
	at := hash
	for *t.slot(at) != 0 {
		at++
	}
	*t.slot(at) = hash>>numberBits<<numberBits | uint64(i+1)
}

// slot returns the slot at a place, which may be beyond the end: the first follows on the last.
func (t *keyTable) slot(at uint64) *uint64 { return &t.index[at&uint64(len(t.index)-1)] }

// filtered returns the word of a hash in the filter, and its bits.
func (t *keyTable) filtered(hash uint64) (word *uint64, bits uint64) {
	return &t.filter[hash>>18&uint64(len(t.filter)-1)], 1<<(hash&63) | 1<<(hash>>6&63) | 1<<(hash>>12&63)
}

// of returns the entries of a key, or nil if it has none.
func (t *keyTable) of(key []byte) *keyEntries {
	if len(t.filter) == 0 {
		return nil
	}
	hash := maphash.Bytes(t.seed, key)
	if word, bits := t.filtered(hash); *word&bits != bits {
		return nil
	}
	return t.find(hash, key)
}

// find returns the entries of a key that has a hash, or nil.
func (t *keyTable) find(hash uint64, key []byte) *keyEntries {
	for at := hash; ; at++ {
		slot := *t.slot(at)
		if slot == 0 {
			return nil
		}
		if slot>>numberBits != hash>>numberBits {
			continue
		}
		if r := &t.keys[slot&(1<<numberBits-1)-1]; r.key == string(key) {
			return &r.keyEntries
		}
	}
}

// add returns the entries of a key, which is added if it is new. They may be used until the next key
// is added.
func (t *keyTable) add(key []byte) *keyEntries {
	hash := maphash.Bytes(t.seed, key)
	if known := t.find(hash, key); known != nil {
		return known
	}
	if n := len(t.keys) + 1; 2*n > len(t.index) {
		t.makeIndex(n)
	}
	t.addToIndex(hash, len(t.keys))
	t.keys = append(t.keys, keyRecord{key: string(key)})
	word, bits := t.filtered(hash)
	*word |= bits
	r := &t.keys[len(t.keys)-1]
	r.overrides = r.override[:0]
	return &r.keyEntries
}
