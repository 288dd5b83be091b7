package usage

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// mostMarked is the highest number of keys in a Marked. One more key replaces another one.
const mostMarked = 10_000

// Marked has the keys whose newest denial was by a dry run. A store marks the first denial of a key
// in a window, even if a dry run made that denial. The first denial after the dry run then has no
// mark, and Marked tells that it is the first one that rejects a request. The zero value is empty.
// A Marked is safe for concurrent use.
type Marked struct {
	mu     sync.Mutex
	counts map[uint64]struct{}
	n      atomic.Int64 // len(counts): without a dry run, Remove takes no lock
}

var markedSeed = maphash.MakeSeed()

func markedHash(rule uint32, key []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(markedSeed)
	maphash.WriteComparable(&h, rule)
	_, _ = h.Write(key)
	return h.Sum64()
}

// Add notes that a dry run has denied a key under the rule with this ID.
func (m *Marked) Add(rule uint32, key []byte) {
	hash := markedHash(rule, key)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts = make(map[uint64]struct{})
	}
	if _, has := m.counts[hash]; !has && len(m.counts) == mostMarked {
		for other := range m.counts { // any one
			delete(m.counts, other)
			break
		}
	}
	m.counts[hash] = struct{}{}
	m.n.Store(int64(len(m.counts)))
}

// Remove reports whether the newest denial of the key was by a dry run, and removes the key.
func (m *Marked) Remove(rule uint32, key []byte) bool {
	if m.n.Load() == 0 {
		return false
	}
	hash := markedHash(rule, key)
	m.mu.Lock()
	defer m.mu.Unlock()
	_, has := m.counts[hash]
	delete(m.counts, hash)
	m.n.Store(int64(len(m.counts)))
	return has
}
