package keyed

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"
)

type (
	intMap   = Map[int64, struct{}, struct{}]
	intShard = Shard[int64, struct{}, struct{}]
	intEntry = Entry[int64]
)

// newMap returns a map of four shards. The value of an entry is what its eviction costs. An entry
// with a negative value must stay.
func newMap() *intMap { return New[int64, struct{}, struct{}](2) }

func valueCost(_ *intShard, e *intEntry) (int64, bool) { return *e.Value(), *e.Value() >= 0 }

// keyOf returns the key with the number n as its text.
func keyOf(m *intMap, n uint64) *Key {
	k := &Key{Text: binary.BigEndian.AppendUint64(nil, n)}
	k.Hash = m.Hash(k.ID, k.Text)
	return k
}

// add adds the key n with a value and returns the values of the entries that it evicts. It reports
// false if there is no room.
func add(m *intMap, n uint64, maxKeys int, value int64) (evicted []int64, ok bool) {
	k := keyOf(m, n)
	s := m.Shard(k.Hash)
	s.Lock()
	defer s.Unlock()
	e := m.AddLocked(s, k, maxKeys, valueCost, func(holder *intShard, e *intEntry) {
		if holder != s && holder.TryLock() {
			holder.Unlock()
			evicted = append(evicted, -1) // the shard of the entry must be locked
		}
		evicted = append(evicted, *e.Value())
	})
	if e == nil {
		return evicted, false
	}
	*e.Value() = value
	return evicted, true
}

func TestAddEvictsAtTheBound(t *testing.T) {
	m := newMap()
	for n := range uint64(10) {
		if evicted, ok := add(m, n, 10, int64(n)); !ok || evicted != nil {
			t.Fatalf("add %d of 10: evicted %v, ok = %v, want none and true", n, evicted, ok)
		}
	}
	if evicted, ok := add(m, 10, 10, -1); !ok || !slices.Equal(evicted, []int64{0}) {
		t.Errorf("add to a full map: evicted %v, ok = %v, want the entry of the least cost and true", evicted, ok)
	}
	if got := m.Len(); got != 10 {
		t.Errorf("entries = %d, want 10", got)
	}
}

func TestAddFindsNoRoomWhenAllMustStay(t *testing.T) {
	m := newMap()
	for n := range uint64(10) {
		add(m, n, 10, -1)
	}
	if evicted, ok := add(m, 10, 10, 1); ok || evicted != nil || m.Len() != 10 {
		t.Errorf("add: evicted %v, ok = %v, entries = %d, want none, false and 10", evicted, ok, m.Len())
	}
}

// TestAddWorksOffALoweredBound evicts up to four entries for each new one.
func TestAddWorksOffALoweredBound(t *testing.T) {
	m := newMap()
	for n := range uint64(20) {
		add(m, n, 20, 1)
	}
	for i, want := range []int{17, 14, 11, 10, 10} {
		if _, ok := add(m, uint64(20+i), 10, 1); !ok || m.Len() != want {
			t.Errorf("entries after key %d came to a map with the new bound 10 = %d, ok = %v, want %d", i, m.Len(), ok, want)
		}
	}
}

// TestEvictionSkipsLockedShards holds the locks of all other shards. Waiting for one of them could
// be a deadlock.
func TestEvictionSkipsLockedShards(t *testing.T) {
	m := newMap()
	for n := range uint64(20) {
		k := keyOf(m, n)
		value := int64(0) // can be evicted
		if m.Shard(k.Hash) == &m.Shards()[0] {
			value = -1
		}
		add(m, n, 20, value)
	}
	n := uint64(20)
	for m.Shard(keyOf(m, n).Hash) != &m.Shards()[0] {
		n++
	}
	for i := 1; i < len(m.Shards()); i++ {
		m.Shards()[i].Lock()
	}
	if evicted, ok := add(m, n, 20, 1); ok {
		t.Errorf("add with all other shards locked: evicted %v, want no room", evicted)
	}
	for i := 1; i < len(m.Shards()); i++ {
		m.Shards()[i].Unlock()
	}
	if evicted, ok := add(m, n, 20, 1); !ok || !slices.Equal(evicted, []int64{0}) {
		t.Errorf("add with all other shards unlocked: evicted %v, ok = %v, want one entry and true", evicted, ok)
	}
	for i := range m.Shards() { // an eviction unlocks the shards that it has locked
		if !m.Shards()[i].TryLock() {
			t.Errorf("shard %d is locked after an eviction", i)
		}
	}
}

// TestSweep sweeps one shard of four at a time, and checks that the memory of empty shards is
// freed.
func TestSweep(t *testing.T) {
	m := newMap()
	for n := range uint64(4000) {
		add(m, n, 4000, int64(n%2))
	}
	for part := range m.Shards() {
		before := m.Len()
		m.Sweep(part, len(m.Shards()), func(s *intShard, e *intEntry) bool {
			if s != &m.Shards()[part] || s.TryLock() {
				t.Fatal("sweep of another shard, or without its lock")
			}
			return *e.Value() == 0
		})
		if left := m.Shards()[part].Entries.len; left == 0 || m.Len() >= before {
			t.Errorf("entries of shard %d after its sweep = %d, of all %d, before %d", part, left, m.Len(), before)
		}
	}
	if m.Len() != 2000 {
		t.Errorf("entries after a sweep of half of 4000 = %d, want 2000", m.Len())
	}
	m.Sweep(0, 1, func(*intShard, *intEntry) bool { return true })
	for i := range m.Shards() {
		if s := &m.Shards()[i]; s.Entries.slots() != 0 {
			t.Errorf("slots of the empty shard %d = %d, want none", i, s.Entries.slots())
		}
	}
	if m.Len() != 0 {
		t.Errorf("entries after a sweep of all = %d, want 0", m.Len())
	}
}

func TestLockAll(t *testing.T) {
	a, b := newMap(), newMap()
	a.makeShards()
	b.makeShards()
	given := []*intShard{&b.Shards()[1], &a.Shards()[3], &b.Shards()[0], &a.Shards()[3], &a.Shards()[0]}
	locked := LockAll(given)
	if want := []*intShard{&a.Shards()[0], &a.Shards()[3], &b.Shards()[0], &b.Shards()[1]}; !slices.Equal(locked, want) {
		t.Errorf("locked shards = %v, want each once, in the order in which they were made", locked)
	}
	for _, s := range locked {
		if s.TryLock() {
			t.Error("a shard is not locked")
		}
	}
	UnlockAll(locked)
	for _, s := range locked {
		if !s.TryLock() {
			t.Error("a shard is still locked")
		}
	}
}

// TestBoundHoldsWhenManyAdd adds and removes keys in many goroutines. The number of entries is near
// its bound nearly all the time.
func TestBoundHoldsWhenManyAdd(t *testing.T) {
	const maxKeys, goroutines = 10, 8
	m := newMap()
	var wg sync.WaitGroup
	for g := range uint64(goroutines) {
		wg.Go(func() {
			for i := range uint64(2000) {
				add(m, g<<32|i, maxKeys, int64(i%2)-1)
				if n := m.Len(); n > maxKeys {
					t.Errorf("entries = %d, want at most %d", n, maxKeys)
				}
				if i%100 == 0 {
					m.Sweep(0, 1, func(*intShard, *intEntry) bool { return true })
				}
			}
		})
	}
	wg.Wait()
	entries := 0
	for i := range m.Shards() {
		entries += m.Shards()[i].Entries.len
	}
	if entries != m.Len() {
		t.Errorf("entries in shards = %d, counted %d", entries, m.Len())
	}
}
