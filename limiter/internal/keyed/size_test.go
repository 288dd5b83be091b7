package keyed

import (
	"reflect"
	"testing"
	"unsafe"
)

func TestSizeOf(t *testing.T) {
	for _, tt := range []struct{ numbers, text, room int }{
		{0, 0, 0},
		{0, 1, 16},
		{4, 0, 32},
		{4, 16, 48}, // a token bucket under a key of 16 bytes
		{4, 17, 64},
		{7, 16, 80}, // a sliding window
		{0, 128, 128},
		{0, 129, 144},
		{0, MaxText, 256},
		{0, MaxText + 1, 16},
		{4, 1 << 20, 48},
		{MaxNumbers, MaxText, 448},
	} {
		if got := sizeOf(tt.numbers, tt.text).room(); got != tt.room {
			t.Errorf("room for %d numbers and %d bytes = %d, want %d", tt.numbers, tt.text, got, tt.room)
		}
	}
	if got := int(sizeOf(MaxNumbers, MaxText)) + 1; got != sizeCount {
		t.Errorf("sizes = %d, want %d", sizeCount, got)
	}
}

func TestEntriesAreSmall(t *testing.T) {
	if got := unsafe.Sizeof(Entry[[2]int64]{}); got != 32 {
		t.Errorf("bytes of an entry with two numbers = %d, want 32", got)
	}
	for offset, want := range map[int]int{textOffset[struct{}](0): 16, textOffset[uint32](0): 24, textOffset[[2]int64](3): 56} {
		if offset != want {
			t.Errorf("offset of the text = %d, want %d", offset, want)
		}
	}
}

func TestPointerIn(t *testing.T) {
	type inner struct {
		_ int8
		_ [3]float64
	}
	for _, tt := range []struct {
		of   any
		want reflect.Type
	}{
		{0, nil},
		{[4]complex128{}, nil},
		{struct {
			a bool
			b [2]inner
		}{}, nil},
		{"", reflect.TypeFor[string]()},
		{[]int64{}, reflect.TypeFor[[]int64]()},
		{[1]*int{}, reflect.TypeFor[*int]()},
		{struct {
			n    int
			text string
		}{}, reflect.TypeFor[string]()},
		{struct {
			n    inner
			last [2]struct{ m map[int]int }
		}{}, reflect.TypeFor[map[int]int]()},
	} {
		if got := pointerIn(reflect.TypeOf(tt.of)); got != tt.want {
			t.Errorf("pointer in %T = %v, want %v", tt.of, got, tt.want)
		}
	}
}
