// Package table holds entries of a few numbers each, by the million, at the cost of hardly more than their bytes: what
// the stores keep of every key that was ever seen.
//
// A take waits for memory more than for anything else. So a look-up meets one cache miss, that of the entry: the marks
// that say which entry it may be take a byte each and stay in the processor's caches, and the entry has its key and all
// of its numbers in one piece. What few takes need can be kept apart from it, so that an entry takes fewer cache lines, and
// more entries are in the caches. And the garbage collector never looks at either, as they have no pointers.
//
// # Structure
//
// Entries of one size stand in one array, in groups of seven slots with a word of marks each. The hash of a key names the
// group it belongs to; when that is full, the entry goes into the next one that is not, and the groups in between count
// that it went by. So a search ends at the first group that nothing went by, a slot is free for the next entry as soon as
// it is left, and nothing ever has to be put in order again.
//
// The groups are in the order of the hashes. So an array can have any length, and grows by a quarter or so where a table
// with a power of two of places has to double; growing reads and writes it from front to back; and a walk that stops
// somewhere knows where to go on, though the array has grown since.
package table

import (
	"fmt"
	"reflect"
	"unsafe"
)

// A Table is a hash table of entries, each with a T, and with a C in another place: what a look-up is seldom for; struct{}
// when that is nothing. The zero Table is empty and ready to use; it must not be copied once it is in use. T and C must not
// have pointers. A Table is not safe for concurrent use.
//
// Pointers to entries, and to what is apart from them, are valid until the next Insert, which may move all of them, or Shrink.
// Remove moves none.
type Table[T, C any] struct {
	arrays []array          // one for each size that occurs, in the order in which they were first needed
	which  [sizeCount]uint8 // by size: the place of its array in arrays, and one; 0 when it has none
	len    int
	hand   hand
	texts  Overflow[string] // of the entries whose length is textAside
}

// A Key says which entry is meant. Two keys are the same when their IDs, forms and texts are.
type Key struct {
	// Hash tells keys apart most of the time; the same key has the same one every time. The lower half is used. It
	// should be spread evenly, and not be known to whoever chooses the keys.
	Hash uint64

	ID   uint32 // what the entry belongs to, as a rule
	Form uint16 // what its numbers mean

	// Numbers is how many numbers the entry has besides its T, at most MaxNumbers. It follows from the form.
	Numbers int

	// Text is the rest of the key. The table keeps no reference to it. Up to MaxText bytes are in the entry.
	Text []byte
}

// What there is room for in an entry.
const (
	MaxNumbers = 24
	MaxText    = 256 // bytes; the text of longer keys is kept aside
)

// Len returns how many entries there are.
func (t *Table[T, C]) Len() int { return t.len }

// Cap returns how many entries there is memory for.
func (t *Table[T, C]) Cap() (n int) {
	for i := range t.arrays {
		n += t.arrays[i].slots()
	}
	return n
}

// Find returns the entry of k and what is apart from it, or nil when there is none.
func (t *Table[T, C]) Find(k *Key) (*Entry[T], *C) {
	i := t.which[sizeOf(k.Numbers, len(k.Text))]
	if i == 0 {
		return nil, nil
	}
	a := &t.arrays[i-1]
	if len(k.Text) > MaxText {
		return t.findLong(a, k)
	}
	slot := a.find(k, textOffset[T](k.Numbers))
	if slot < 0 {
		return nil, nil
	}
	return (*Entry[T])(a.at(slot)), (*C)(a.coldAt(slot))
}

// findLong is Find for k, whose text is kept aside, in a.
func (t *Table[T, C]) findLong(a *array, k *Key) (found *Entry[T], apart *C) {
	a.eachHash(uint32(k.Hash), func(p unsafe.Pointer) {
		e := (*Entry[T])(p)
		if e.id == k.ID && e.form == k.Form && e.length == textAside && t.texts.At(*e.aside()) == string(k.Text) {
			found, apart = e, t.Cold(e)
		}
	})
	return found, apart
}

// Cold returns the C of e, which must be in the table.
func (t *Table[T, C]) Cold(e *Entry[T]) *C {
	a := &t.arrays[t.which[e.size]-1]
	return (*C)(a.coldAt(a.slotOf(unsafe.Pointer(e))))
}

// Insert adds an entry for k, which must not have one yet. All of it, and its C, is zero but for the key. It may move all
// others.
func (t *Table[T, C]) Insert(k *Key) *Entry[T] {
	a := t.arrayFor(k)
	e := (*Entry[T])(a.at(a.insert(uint32(k.Hash))))
	e.head = head{
		hash: uint32(k.Hash), id: k.ID, form: k.Form, length: uint16(len(k.Text)), size: sizeOf(k.Numbers, len(k.Text)),
	}
	if len(k.Text) > MaxText {
		e.length = textAside
		*e.aside() = t.texts.Put(string(k.Text))
	} else {
		copy(e.Text(k.Numbers), k.Text)
	}
	t.len++
	return e
}

// arrayFor returns the array that the entry of k belongs to.
func (t *Table[T, C]) arrayFor(k *Key) *array {
	if k.Numbers < 0 || k.Numbers > MaxNumbers {
		panic(fmt.Sprintf("table: %d numbers in an entry, want 0 to %d: keep more of them aside", k.Numbers, MaxNumbers))
	}
	z := sizeOf(k.Numbers, len(k.Text))
	if t.which[z] == 0 {
		mustHaveNoPointer(reflect.TypeFor[T]())
		mustHaveNoPointer(reflect.TypeFor[C]())
		t.arrays = append(t.arrays, array{stride: textOffset[T](0) + z.room(), coldSize: int(unsafe.Sizeof(*new(C)))})
		t.which[z] = uint8(len(t.arrays))
	}
	return &t.arrays[t.which[z]-1]
}

// Remove takes out e, which must be in the table, and moves no other entry.
func (t *Table[T, C]) Remove(e *Entry[T]) {
	if e.length == textAside {
		t.texts.Drop(*e.aside())
	}
	t.arrays[t.which[e.size]-1].remove(e.hash, unsafe.Pointer(e))
	t.len--
}

// Shrink gives memory back where less than a quarter of what there is for entries is used. It may move all of them.
func (t *Table[T, C]) Shrink() {
	if t.len == 0 {
		*t = Table[T, C]{}
		return
	}
	for i := range t.arrays {
		t.arrays[i].shrink()
	}
}
