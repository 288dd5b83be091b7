package table

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A subject is a key as a Go map can hold it.
type subject struct {
	id   uint32
	form uint16
	text string
}

// A model is a table and what should be in it: for each subject, the number that is written all over its entry, and apart from
// it. What is apart is no multiple of 8 bytes.
type model struct {
	*rand.Rand
	Table[[3]int64, [5]int32]
	want   map[subject]int64
	unseen map[subject]bool // those that were there since a walk began and were not visited by it
	hashes uint64           // how many different ones there are
	spread int              // how many different texts come
}

// numbersOf says how many numbers entries of each form have.
var numbersOf = []int{0, 1, 4, 4, 7, MaxNumbers}

func newModel(seed uint64) *model {
	m := &model{Rand: rand.New(rand.NewPCG(seed, 7)), want: make(map[subject]int64)}
	m.hashes, m.spread = []uint64{3, 50, 1 << 62}[seed%3], 500
	return m
}

// random returns a random subject. Many have the same text, and many texts differ in their length only.
func (m *model) random() subject {
	i := m.IntN(m.spread)
	s := subject{id: uint32(i % 2), form: uint16(i / 2 % len(numbersOf))}
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

func (m *model) key(s subject) *Key {
	return &Key{Hash: m.hash(s), ID: s.id, Form: s.form, Numbers: numbersOf[s.form], Text: []byte(s.text)}
}

// hash returns the same hash for the same subject: one of few, or one that is spread, as the model has it.
func (m *model) hash(s subject) uint64 {
	h := uint64(s.id)*31 + uint64(s.form)
	for _, c := range []byte(s.text) {
		h = (h ^ uint64(c)) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	return h % m.hashes
}

// check returns an error when e is not the entry of s.
func (m *model) check(e *Entry[[3]int64], s subject) error {
	if e.ID() != s.id || e.Form() != s.form || e.Hash() != uint32(m.hash(s)) {
		return fmt.Errorf("ID %d, form %d, hash %x, want %v", e.ID(), e.Form(), e.Hash(), s)
	}
	n := numbersOf[s.form]
	if got := string(m.Text(e, n)); got != s.text {
		return fmt.Errorf("text = %q, want %q", got, s.text)
	}
	numbers := append(e.Value()[:], e.Numbers(n)...)
	for i, got := range numbers {
		if want := m.want[s]; got != want {
			return fmt.Errorf("number %d of %d = %d, want %d", i, len(numbers), got, want)
		}
	}
	if got, want := *m.Cold(e), apart(m.want[s]); got != want {
		return fmt.Errorf("apart from the entry = %d, want %d", got, want)
	}
	return nil
}

// apart returns what is apart from an entry that a number was written all over.
func apart(number int64) (c [5]int32) {
	for i := range c {
		c[i] = -int32(number)
	}
	return c
}

// write writes a number all over the entry of s, and apart from it.
func (m *model) write(e *Entry[[3]int64], s subject, number int64) {
	*e.Value(), *m.Cold(e) = [3]int64{number, number, number}, apart(number)
	for i := range e.Numbers(numbersOf[s.form]) {
		e.Numbers(numbersOf[s.form])[i] = number
	}
	m.want[s] = number
}

// step looks for a subject, and most of the time inserts, writes or removes it.
func (m *model) step() error {
	s := m.random()
	number, want := m.want[s]
	e, found := m.Find(m.key(s))
	if e != nil && found != m.Cold(e) {
		return fmt.Errorf("%v found apart at %p, want %p", s, found, m.Cold(e))
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

// remove takes out e.
func (m *model) remove(e *Entry[[3]int64]) {
	s := m.subjectOf(e)
	delete(m.want, s)
	delete(m.unseen, s)
	m.Remove(e)
}

// shed removes most entries, and gives their memory back.
func (m *model) shed() {
	m.Walk(new(Cursor), m.Cap(), func(e *Entry[[3]int64]) {
		if m.IntN(10) > 0 {
			m.remove(e)
		}
	})
	m.Shrink()
}

// subjectOf returns whose entry e is, by what is in it.
func (m *model) subjectOf(e *Entry[[3]int64]) subject {
	return subject{e.ID(), e.Form(), string(m.Text(e, numbersOf[e.Form()]))}
}

// checkAll returns an error when a walk does not visit all there is, or does and finds it to be different.
func (m *model) checkAll() (err error) {
	seen, capacity := make(map[subject]bool), m.Cap()
	for c, more := new(Cursor), true; more; {
		more = m.Walk(c, 1+m.IntN(100), func(e *Entry[[3]int64]) {
			s := m.subjectOf(e)
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
	case len(seen) != len(m.want) || m.Len() != len(m.want) || m.Len() > capacity:
		return fmt.Errorf("walked through %d of %d entries, with room for %d, want %d", len(seen), m.Len(), capacity, len(m.want))
	}
	return m.checkGroups()
}

// checkGroups returns an error when a group has not counted what went by, or a text is aside that no entry has.
func (m *model) checkGroups() error {
	long := 0
	for i := range m.arrays {
		a := &m.arrays[i]
		past := make([]uint64, len(a.groups))
		for g := range a.groups {
			visit(a, g, func(e *Entry[[3]int64]) {
				for home := a.home(e.hash); home != g; home = a.next(home) {
					past[home]++
				}
				if e.length == textAside {
					long++
				}
			})
		}
		for g, want := range past {
			if got := uint64(a.groups[g]) >> 56; got != want && got < pastMost {
				return fmt.Errorf("group %d of size %d counted %d that went by, want %d", g, i, got, want)
			}
		}
	}
	if got := m.texts.Len(); got != long {
		return fmt.Errorf("texts aside = %d, want %d", got, long)
	}
	return nil
}
