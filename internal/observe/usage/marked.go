package usage

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// mostMarked bounds the keys that a Marked has. When one more comes, another one leaves.
const mostMarked = 10_000

// Marked are the counts that a dry run has denied last. Stores mark a key at the first denial of a
// window, whoever asks: after the dry run, the first denial that rejects a request is another first one.
// The zero value has none. It is safe for concurrent use.
type Marked struct {
	mu     sync.Mutex
	counts map[uint64]struct{}
	n      atomic.Int64 // of counts: zones without a dry run need no lock
}

var markedSeed = maphash.MakeSeed()

func markedHash(rule uint32, key []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(markedSeed)
	maphash.WriteComparable(&h, rule)
	_, _ = h.Write(key)
	return h.Sum64()
}

// Add notes that a dry run has denied a key under the rule with an ID.
func (m *Marked) Add(rule uint32, key []byte) {
	hash := markedHash(rule, key)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts = make(map[uint64]struct{})
	}
	if _, has := m.counts[hash]; !has && len(m.counts) == mostMarked {
		for other := range m.counts { // any
			delete(m.counts, other)
			break
		}
	}
	m.counts[hash] = struct{}{}
	m.n.Store(int64(len(m.counts)))
}

// Remove reports whether a dry run has denied the key last, and forgets that.
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
