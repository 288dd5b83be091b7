package keyed

import (
	"encoding/binary"
	"testing"
)

// TestWalkWhileEntriesMove changes the table between the calls of a walk. It must visit each entry
// that is there from the first call to the last.
func TestWalkWhileEntriesMove(t *testing.T) {
	for seed := range uint64(60) {
		m := newModel(seed)
		m.spread = 2000
		for range m.IntN(3000) {
			if err := m.step(); err != nil {
				t.Fatal(err)
			}
		}
		m.unseen = make(map[mapKey]bool)
		for s := range m.want {
			m.unseen[s] = true
		}
		for c, more := new(Cursor), true; more; {
			more = m.Walk(c, 1+m.IntN(200), func(e *Entry[[3]int64]) { delete(m.unseen, m.keyOf(e)) })
			switch m.IntN(8) {
			case 0:
				m.shed()
			case 1, 2, 3:
				for range 300 {
					if err := m.step(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for s := range m.unseen {
			t.Fatalf("seed %d: %v was there all the time and was not visited", seed, s)
		}
	}
}

// TestEachHash finds all entries of a hash among others in the same groups, and removes half of
// them.
func TestEachHash(t *testing.T) {
	for seed := range uint64(6) {
		m := newModel(seed)
		m.EachHash(5, func(*Entry[[3]int64]) { t.Error("entry in an empty table") })
		for range 5000 {
			if err := m.step(); err != nil {
				t.Fatal(err)
			}
		}
		want := make(map[uint64]int)
		for s := range m.want {
			want[m.hash(s)]++
		}
		for hash, n := range want {
			got, removed := 0, 0
			m.EachHash(hash, func(e *Entry[[3]int64]) {
				if got++; e.hash != uint32(hash) {
					t.Errorf("entry of the hash %x, want %x", e.hash, uint32(hash))
				}
				if got%2 == 0 {
					m.remove(e)
					removed++
				}
			})
			if got != n || removed != n/2 {
				t.Errorf("seed %d: entries with the hash %x = %d, %d of them removed, want %d and half", seed, hash, got, removed, n)
			}
		}
		if err := m.checkAll(); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestSample checks that samples go round, and that a sample that never has enough sees each entry
// once.
func TestSample(t *testing.T) {
	m := newModel(2)
	m.Sample(func(*Entry[[3]int64]) bool { t.Error("entry in an empty table"); return true })
	for range 3000 {
		if err := m.step(); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[mapKey]int)
	m.Sample(func(e *Entry[[3]int64]) bool { seen[m.keyOf(e)]++; return true })
	for s := range m.want {
		if seen[s] != 1 {
			t.Errorf("%v seen %d times in a sample of all, want once", s, seen[s])
		}
	}
	clear(seen)
	for calls := 0; len(seen) < len(m.want); {
		n := 0
		m.Sample(func(e *Entry[[3]int64]) bool { seen[m.keyOf(e)]++; n++; return n < 5 })
		if n < 5 || n > 5+groupSize-1 {
			t.Fatalf("entries in a sample of 5 = %d, want 5 and up to a group more", n)
		}
		if calls++; calls > len(m.want)/5+1 {
			t.Fatalf("samples of 5 saw %d of %d entries after %d calls, want all by then", len(seen), len(m.want), calls)
		}
	}
	m.shed() // the hand may be behind all entries that are left
	n := 0
	m.Sample(func(*Entry[[3]int64]) bool { n++; return true })
	if n != len(m.want) {
		t.Errorf("entries in a sample of all that remain = %d, want %d", n, len(m.want))
	}
}

// All texts are visited, without a lock, until the visitor has enough.
func TestTexts(t *testing.T) {
	m := newMap()
	m.Texts(func([]byte) bool { t.Error("an empty map has a text"); return true })
	const keys = 3000
	for n := range uint64(keys) {
		add(m, n, keys, 0)
	}
	seen := make(map[uint64]bool)
	m.Texts(func(text []byte) bool {
		n := binary.BigEndian.Uint64(text)
		k := keyOf(m, n)
		if s := m.Shard(k.Hash); s.TryLock() {
			s.Unlock()
		} else {
			t.Fatalf("the shard of text %d is locked", n)
		}
		seen[n] = true
		return true
	})
	if len(seen) != keys {
		t.Errorf("texts = %d, want %d", len(seen), keys)
	}
	visited := 0
	m.Texts(func([]byte) bool { visited++; return visited < 10 })
	if visited != 10 {
		t.Errorf("visited = %d, want 10", visited)
	}
}
