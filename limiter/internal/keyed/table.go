package keyed

import (
	"fmt"
	"unsafe"
)

// A Table is a hash table of entries. Each entry has a V and, in another place, a C: its cold
// value, which few look-ups need. So entries take fewer cache lines. If there are no cold values, C
// is struct{}. V and C must not have pointers.
//
// The zero Table is empty and ready to use. It must not be copied after its first use, and is not
// safe for concurrent use.
//
// Insert and Shrink may move all entries and cold values, so pointers to them are not valid any
// more after that. Remove moves none.
type Table[V, C any] struct {
	arrays []array          // one for each size that occurs, in the order of their first use
	bySize [sizeCount]uint8 // one more than the index in arrays; 0 if there is no array
	len    int
	hand   hand
	texts  Spill[string] // the texts that are spilled
}

// Find returns the entry of k and its cold value, or nil.
func (t *Table[V, C]) Find(k *Key) (*Entry[V], *C) {
	i := t.bySize[sizeOf(k.Numbers, len(k.Text))]
	if i == 0 {
		return nil, nil
	}
	a := &t.arrays[i-1]
	slot := a.find(k, textOffset[V](k.Numbers), &t.texts)
	if slot < 0 {
		return nil, nil
	}
	return (*Entry[V])(a.entryAt(slot)), (*C)(a.coldAt(slot))
}

// Cold returns the cold value of e.
func (t *Table[V, C]) Cold(e *Entry[V]) *C {
	a := &t.arrays[t.bySize[e.size]-1]
	return (*C)(a.coldAt(a.slotOf(unsafe.Pointer(e))))
}

// Text returns the text of the key of e. It is valid as long as e is.
func (t *Table[V, C]) Text(e *Entry[V]) []byte {
	if e.length == spilled {
		return []byte(t.texts.At(*e.spilledText()))
	}
	return e.text()
}

// Insert adds an entry for k, which must not have one yet. Its value, numbers and cold value are
// zero.
func (t *Table[V, C]) Insert(k *Key) *Entry[V] {
	if k.Numbers < 0 || k.Numbers > MaxNumbers {
		panic(fmt.Sprintf("keyed: %d numbers in an entry, want 0 to %d: use a Spill", k.Numbers, MaxNumbers))
	}
	z := sizeOf(k.Numbers, len(k.Text))
	if t.bySize[z] == 0 {
		mustHaveNoPointer[V]()
		mustHaveNoPointer[C]()
		t.arrays = append(t.arrays, array{stride: textOffset[V](0) + z.room(), coldSize: int(unsafe.Sizeof(*new(C)))})
		t.bySize[z] = uint8(len(t.arrays))
	}
	a := &t.arrays[t.bySize[z]-1]
	e := (*Entry[V])(a.entryAt(a.insert(uint32(k.Hash))))
	e.head = head{
		hash: uint32(k.Hash), id: k.ID, layout: k.Layout, length: k.length(), size: z, numbers: uint8(k.Numbers),
	}
	if e.length == spilled {
		*e.spilledText() = t.texts.Put(string(k.Text))
	} else {
		copy(e.text(), k.Text)
	}
	t.len++
	return e
}

// Remove removes e, which must be in the table.
func (t *Table[V, C]) Remove(e *Entry[V]) {
	if e.length == spilled {
		t.texts.Drop(*e.spilledText())
	}
	t.arrays[t.bySize[e.size]-1].remove(unsafe.Pointer(e))
	t.len--
}

// Shrink frees memory where less than a quarter of the slots is used.
func (t *Table[V, C]) Shrink() {
	if t.len == 0 {
		*t = Table[V, C]{}
		return
	}
	for i := range t.arrays {
		t.arrays[i].shrink()
	}
}
