package zone

import "math"

// A KeyShare is a part of all keys, which is the same on all nodes and after a restart. Of one seed, a larger share has all keys of a smaller one. The
// shares of two seeds do not depend on each other. The zero value has no key.
type KeyShare struct {
	all   bool
	below uint64 // the hashes of the keys are
	seed  uint64 // the hash of the seed
}

// NewKeyShare returns the share that has a fraction of the keys, 0 to 1.
func NewKeyShare(fraction float64, seed string) KeyShare {
	if fraction >= 1 {
		return KeyShare{all: true}
	}
	return KeyShare{below: uint64(fraction * math.MaxUint64), seed: fnv1a(14695981039346656037, seed)}
}

// All reports whether s has every key.
func (s *KeyShare) All() bool { return s.all }

// Includes reports whether s has a key.
func (s *KeyShare) Includes(key []byte) bool {
	if s.below == 0 {
		return s.all
	}
	return s.includes(key)
}

func (s *KeyShare) includes(key []byte) bool {
	h := fnv1a(s.seed, key)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd // FNV-1a alone mixes the last bytes too little
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h^h>>33 < s.below
}

// fnv1a continues an FNV-1a hash.
func fnv1a[T string | []byte](h uint64, text T) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return h
}
