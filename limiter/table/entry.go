package table

import (
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

// A head says whose entry it is in front of.
type head struct {
	hash   uint32 // the lower half of the key's
	id     uint32
	form   uint16
	length uint16 // of the text in bytes, or textAside
	size   size
}

// textAside is the length of texts that are not in the entry; Table.texts has them by the number at its end.
const textAside = math.MaxUint16

// An Entry is what a table holds in one piece for one key: a T, numbers, and the key. The numbers and the text follow in memory,
// so an Entry must not be copied.
type Entry[T any] struct {
	head
	value T
}

// ID returns the ID of the key.
func (e *Entry[T]) ID() uint32 { return e.id }

// Form returns the form of the key.
func (e *Entry[T]) Form() uint16 { return e.form }

// Hash returns the lower half of the key's hash.
func (e *Entry[T]) Hash() uint32 { return e.hash }

// Value returns the T of e.
func (e *Entry[T]) Value() *T { return &e.value }

// Numbers returns the numbers of e, of which there are n: Key.Numbers as it was inserted.
func (e *Entry[T]) Numbers(n int) []int64 {
	if n == 0 { // what follows may be beyond e
		return nil
	}
	return unsafe.Slice((*int64)(unsafe.Add(unsafe.Pointer(e), textOffset[T](0))), n)
}

// Text returns the text of the key, which stands behind n numbers; nil when it is longer than MaxText. See [Table.Text].
func (e *Entry[T]) Text(n int) []byte {
	if e.length == 0 || e.length == textAside {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(e), textOffset[T](n))), e.length)
}

// Text returns the text of the key of e, which has n numbers, of any length.
func (t *Table[T, C]) Text(e *Entry[T], n int) []byte {
	if e.length == textAside {
		return []byte(t.texts.At(*e.aside()))
	}
	return e.Text(n)
}

// aside returns where the number stands by which Table.texts has the text of e: at the very end.
func (e *Entry[T]) aside() *int64 {
	return (*int64)(unsafe.Add(unsafe.Pointer(e), textOffset[T](0)+e.size.room()-wordSize))
}

// wordSize is what a number takes, in bytes.
const wordSize = int(unsafe.Sizeof(int64(0)))

// textOffset returns where the text begins in an entry with n numbers; with none, where the numbers do.
func textOffset[T any](n int) int {
	const up = wordSize - 1
	return (int(unsafe.Sizeof(Entry[T]{}))+up)&^up + n*wordSize
}

// mustHaveNoPointer panics when t is or has a pointer.
func mustHaveNoPointer(t reflect.Type) {
	if field := pointerIn(t); field != "" {
		panic(fmt.Sprintf("table: %v has a pointer, %s, that the garbage collector would not see: keep it aside", t, field))
	}
}

// pointerIn returns the first field of t that is or has a pointer, "" when there is none.
func pointerIn(t reflect.Type) (field string) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); pointerIn(f.Type) != "" {
				return f.Name
			}
		}
		return ""
	case reflect.Array:
		return pointerIn(t.Elem())
	}
	if t.Kind() > reflect.Complex128 { // all that are simpler are numbers
		return t.String()
	}
	return ""
}
