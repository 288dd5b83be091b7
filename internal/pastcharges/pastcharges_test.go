package pastcharges

import (
	"fmt"
	"testing"
)

func wants(t *testing.T, h *History, key string, want int64) {
	t.Helper()
	if got, known := h.Foresee([]byte(key)); got != want || known != (want > 0) {
		t.Errorf("%s: %d, known %v, want %d", key, got, known, want)
	}
}

// TestForesee foresees the 95th percentile of the last charges of a key, and of all keys while it
// has few of its own.
func TestForesee(t *testing.T) {
	h := new(History)
	wants(t, h, "small", 0)
	for range 4 {
		h.Add([]byte("small"), 10)
	}
	for range 40 {
		h.Add([]byte("large"), 1000)
	}
	wants(t, h, "small", 1000)
	wants(t, h, "new", 1000)
	h.Add([]byte("small"), 10)
	wants(t, h, "small", 10)
	wants(t, h, "large", 1000)
	for i := range int64(19) {
		h.Add([]byte("small"), i)
	}
	h.Add([]byte("small"), 5000)
	wants(t, h, "small", 18)
	h.Add([]byte("small"), 5000)
	wants(t, h, "small", 5000)
	for range 20 {
		h.Add([]byte("large"), 7)
	}
	wants(t, h, "large", 7)
}

// TestBound remembers the keys that were charged last, and a bounded number of them.
func TestBound(t *testing.T) {
	h := new(History)
	for i := range 2 * mostKeys {
		h.Add(fmt.Append(nil, "key", i), 1)
		if i%1000 == 0 {
			h.Add([]byte("always"), 2)
		}
	}
	if got := len(h.keys[0]) + len(h.keys[1]); got > mostKeys {
		t.Errorf("%d keys, want %d at most", got, mostKeys)
	}
	wants(t, h, "always", 2)
	wants(t, h, "new", 1)
}
