package usage

import (
	"fmt"
	"testing"
)

func TestMarked(t *testing.T) {
	var m Marked
	m.Add(1, []byte("a"))
	m.Add(1, []byte("a"))
	for i, want := range []bool{true, false} {
		if m.Remove(2, []byte("a")) || m.Remove(1, []byte("b")) || m.Remove(1, []byte("a")) != want {
			t.Errorf("removal %d: want %t of the key that was added, and false of others", i+1, want)
		}
	}
	for i := range mostMarked + 1000 {
		m.Add(1, fmt.Append(nil, i))
	}
	if len(m.counts) != mostMarked || !m.Remove(1, fmt.Append(nil, mostMarked+999)) {
		t.Errorf("%d keys are marked, want %d with the newest", len(m.counts), mostMarked)
	}
}
