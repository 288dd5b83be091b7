package keyed

import (
	"fmt"
	"reflect"
	"unsafe"
)

// A Key identifies an entry. Two keys are equal if their IDs, layouts and texts are equal.
type Key struct {
	// Hash must be equal for equal keys. Its lower half chooses the place in a Table. It should be
	// spread evenly and be unpredictable to whoever chooses the keys: see [Map.Hash].
	Hash uint64

	ID      uint32
	Layout  uint16 // what the entry's numbers mean
	Numbers int    // how many numbers the entry has, at most MaxNumbers; the same for all keys with this layout

	// Text is the rest of the key. The table keeps no reference to it.
	Text []byte
}

const (
	MaxNumbers = 24
	MaxText    = 256 // bytes; a longer text is spilled
)

// A head identifies the entry that it begins.
type head struct {
	hash    uint32 // the lower half of Key.Hash
	id      uint32
	layout  uint16
	length  uint16 // length of the text in bytes, or spilled; see Key.length
	size    size
	numbers uint8
}

// spilled is the length in the head of an entry whose text is longer than MaxText. The text is in
// Table.texts, and its number there is at the end of the entry.
const spilled = MaxText + 1

func (k *Key) length() uint16 { return uint16(min(len(k.Text), spilled)) }

// is reports whether h is the head of k's entry, if the text is k's too.
func (h *head) is(k *Key) bool {
	return h.hash == uint32(k.Hash) && h.id == k.ID && h.layout == k.Layout && h.length == k.length()
}

// An Entry is one piece of memory with all that a table holds for one key: a V, numbers, and the
// key's text. Numbers and text follow the struct, so an Entry must not be copied.
type Entry[V any] struct {
	head
	value V
}

// ID returns the ID of the key.
func (e *Entry[V]) ID() uint32 { return e.id }

// Layout returns the layout of the key.
func (e *Entry[V]) Layout() uint16 { return e.layout }

// Value returns the V of e.
func (e *Entry[V]) Value() *V { return &e.value }

// Numbers returns the numbers of e, or nil if it has none.
func (e *Entry[V]) Numbers() []int64 {
	if e.numbers == 0 { // the address may be beyond e
		return nil
	}
	return unsafe.Slice((*int64)(unsafe.Add(unsafe.Pointer(e), textOffset[V](0))), e.numbers)
}

// text returns the text in e, or nil if the text is empty or spilled.
func (e *Entry[V]) text() []byte {
	if e.length == 0 || e.length == spilled {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(e), textOffset[V](int(e.numbers)))), e.length)
}

// spilledText returns where the number of a spilled text is.
func (e *Entry[V]) spilledText() *int64 {
	return spilledTextIn(unsafe.Pointer(e), textOffset[V](0)+e.size.room())
}

// spilledTextIn is spilledText for an entry of this size in bytes.
func spilledTextIn(p unsafe.Pointer, bytes int) *int64 {
	return (*int64)(unsafe.Add(p, bytes-wordSize))
}

// textOffset returns the offset of the text in an entry with this many numbers. With 0, it is the
// offset of the numbers.
func textOffset[V any](numbers int) int {
	const up = wordSize - 1
	return (int(unsafe.Sizeof(Entry[V]{}))+up)&^up + numbers*wordSize
}

// mustHaveNoPointer panics when T has a pointer.
func mustHaveNoPointer[T any]() {
	if p := pointerIn(reflect.TypeFor[T]()); p != nil {
		panic(fmt.Sprintf("keyed: %v has a pointer, %v, that the garbage collector would not see: use a Spill", reflect.TypeFor[T](), p))
	}
}

// pointerIn returns the type of the first pointer in a t, or nil if it has none.
func pointerIn(t reflect.Type) reflect.Type {
	switch k := t.Kind(); {
	case k == reflect.Struct:
		for i := range t.NumField() {
			if p := pointerIn(t.Field(i).Type); p != nil {
				return p
			}
		}
		return nil
	case k == reflect.Array:
		return pointerIn(t.Elem())
	case k > reflect.Complex128: // the kinds before it are numbers and booleans
		return t
	}
	return nil
}
