package keyed

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A mapKey is a Key as a Go map can hold it.
type mapKey struct {
	id     uint32
	layout uint16
	text   string
}

// A model is a table and what should be in it: for each key, the number that was written all over
// its entry and cold value. The size of a cold value is no multiple of 8 bytes.
type model struct {
	*rand.Rand
	Table[[3]int64, [5]int32]
	want   map[mapKey]int64
	unseen map[mapKey]bool // keys that were there since a walk began, and that it has not visited
	hashes uint64          // number of different hashes
	spread int             // number of different keys that random returns
}

// numbersOf says how many numbers entries of each layout have.
var numbersOf = []int{0, 1, 4, 4, 7, MaxNumbers}

func newModel(seed uint64) *model {
	m := &model{Rand: rand.New(rand.NewPCG(seed, 7)), want: make(map[mapKey]int64)}
	m.hashes, m.spread = []uint64{3, 50, 1 << 62}[seed%3], 500
	return m
}

// random returns a random key. Many have the same text, and many texts differ only in length.
func (m *model) random() mapKey {
	i := m.IntN(m.spread)
	s := mapKey{id: uint32(i % 2), layout: uint16(i / 2 % len(numbersOf))}
	i /= 2 * len(numbersOf)
	length := i % 40
	if i%19 == 7 {
		length = MaxText - 2 + i%5
	}
	s.text = strings.Repeat("k", length)
	if i >= 50 {
		s.text += fmt.Sprint(i)
	}
	return s
}

func (m *model) key(s mapKey) *Key {
	return &Key{Hash: m.hash(s), ID: s.id, Layout: s.layout, Numbers: numbersOf[s.layout], Text: []byte(s.text)}
}

// hash returns the hash of s, which is one of m.hashes.
func (m *model) hash(s mapKey) uint64 {
	h := uint64(s.id)*31 + uint64(s.layout)
	for _, c := range []byte(s.text) {
		h = (h ^ uint64(c)) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	return h % m.hashes
}

// check returns an error when e is not the entry of s.
func (m *model) check(e *Entry[[3]int64], s mapKey) error {
	if e.ID() != s.id || e.Layout() != s.layout || e.hash != uint32(m.hash(s)) {
		return fmt.Errorf("ID %d, layout %d, hash %x, want %v", e.ID(), e.Layout(), e.hash, s)
	}
	if got := string(m.Text(e)); got != s.text {
		return fmt.Errorf("text = %q, want %q", got, s.text)
	}
	numbers := append(e.Value()[:], e.Numbers()...)
	for i, got := range numbers {
		if want := m.want[s]; got != want {
			return fmt.Errorf("number %d of %d = %d, want %d", i, len(numbers), got, want)
		}
	}
	if got, want := *m.Cold(e), coldOf(m.want[s]); got != want {
		return fmt.Errorf("cold value = %d, want %d", got, want)
	}
	return nil
}

// coldOf returns a cold value that has number written all over it.
func coldOf(number int64) (c [5]int32) {
	for i := range c {
		c[i] = -int32(number)
	}
	return c
}

// write writes a number all over the entry and the cold value of s.
func (m *model) write(e *Entry[[3]int64], s mapKey, number int64) {
	*e.Value(), *m.Cold(e) = [3]int64{number, number, number}, coldOf(number)
	for i := range e.Numbers() {
		e.Numbers()[i] = number
	}
	m.want[s] = number
}

// step looks for a key, and most of the time inserts, writes or removes it.
func (m *model) step() error {
	s := m.random()
	number, want := m.want[s]
	e, found := m.Find(m.key(s))
	if e != nil && found != m.Cold(e) {
		return fmt.Errorf("%v found with a cold value at %p, want %p", s, found, m.Cold(e))
	}
	switch {
	case want != (e != nil):
		return fmt.Errorf("%v found = %v, want %v", s, e != nil, want)
	case e == nil:
		if m.IntN(4) > 0 {
			e = m.Insert(m.key(s))
			if err := m.check(e, s); err != nil { // all zero
				return fmt.Errorf("new: %w", err)
			}
			m.write(e, s, m.Int64N(1000)+1)
		}
		return nil
	}
	if err := m.check(e, s); err != nil {
		return err
	}
	if m.IntN(3) > 0 {
		m.write(e, s, number+1)
	} else {
		m.remove(e)
	}
	return nil
}

// remove removes e.
func (m *model) remove(e *Entry[[3]int64]) {
	s := m.keyOf(e)
	delete(m.want, s)
	delete(m.unseen, s)
	m.Remove(e)
}

// shed removes most entries and frees their memory.
func (m *model) shed() {
	m.Walk(new(Cursor), m.slots(), func(e *Entry[[3]int64]) {
		if m.IntN(10) > 0 {
			m.remove(e)
		}
	})
	m.Shrink()
}

// keyOf returns the key of e.
func (m *model) keyOf(e *Entry[[3]int64]) mapKey {
	return mapKey{e.ID(), e.Layout(), string(m.Text(e))}
}

// checkAll returns an error if a walk misses an entry, or finds one that is not as it should be.
func (m *model) checkAll() (err error) {
	seen, capacity := make(map[mapKey]bool), m.slots()
	for c, more := new(Cursor), true; more; {
		more = m.Walk(c, 1+m.IntN(100), func(e *Entry[[3]int64]) {
			s := m.keyOf(e)
			if _, ok := m.want[s]; !ok && err == nil {
				err = fmt.Errorf("walk: %v, which should not be there", s)
			} else if bad := m.check(e, s); bad != nil && err == nil {
				err = fmt.Errorf("walk: %w", bad)
			}
			seen[s] = true
		})
	}
	switch {
	case err != nil:
		return err
	case len(seen) != len(m.want) || m.len != len(m.want) || m.len > capacity:
		return fmt.Errorf("walked through %d of %d entries, in %d slots, want %d", len(seen), m.len, capacity, len(m.want))
	}
	return m.checkGroups()
}

// checkGroups returns an error when a group has miscounted its displaced entries, or a spilled text
// has no entry.
func (m *model) checkGroups() error {
	long := 0
	for i := range m.arrays {
		a := &m.arrays[i]
		displaced := make([]uint64, len(a.groups))
		for g := range a.groups {
			visit(a, g, func(e *Entry[[3]int64]) {
				for home := a.home(e.hash); home != g; home = a.next(home) {
					displaced[home]++
				}
				if e.length == spilled {
					long++
				}
			})
		}
		for g, want := range displaced {
			if got := uint64(a.groups[g]) >> 56; got != want && got < maxDisplaced {
				return fmt.Errorf("group %d of size %d counted %d displaced entries, want %d", g, i, got, want)
			}
		}
	}
	if got := len(m.texts.values); got != long {
		return fmt.Errorf("spilled texts = %d, want %d", got, long)
	}
	return nil
}

// slots returns how many entries t has memory for.
func (t *Table[V, C]) slots() (n int) {
	for i := range t.arrays {
		n += t.arrays[i].slots()
	}
	return n
}
