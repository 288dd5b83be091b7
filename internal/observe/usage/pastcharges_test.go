package usage

import (
	"fmt"
	"testing"
)

func wants(t *testing.T, h *ChargeHistory, key string, want int64, wantBy Foreseen) {
	t.Helper()
	if got, by := h.Foresee([]byte(key)); got != want || by != wantBy {
		t.Errorf("%s: %d, by %d, want %d, by %d", key, got, by, want, wantBy)
	}
}

// TestForesee foresees a charge by the 95th percentile of the last charges of the key, and by those
// of all keys while the key has few.
func TestForesee(t *testing.T) {
	h := new(ChargeHistory)
	wants(t, h, "small", 0, ForeseenByNone)
	for range 4 {
		h.Add([]byte("small"), 10)
	}
	for range 40 {
		h.Add([]byte("large"), 1000)
	}
	wants(t, h, "small", 1000, ForeseenByAll)
	wants(t, h, "new", 1000, ForeseenByAll)
	h.Add([]byte("small"), 10)
	wants(t, h, "small", 10, ForeseenByKey)
	wants(t, h, "large", 1000, ForeseenByKey)
	for i := range int64(19) {
		h.Add([]byte("small"), i)
	}
	h.Add([]byte("small"), 5000)
	wants(t, h, "small", 18, ForeseenByKey)
	h.Add([]byte("small"), 5000)
	wants(t, h, "small", 5000, ForeseenByKey)
	for range 20 {
		h.Add([]byte("large"), 7)
	}
	wants(t, h, "large", 7, ForeseenByKey)
}

// TestBound checks that a history has a bounded number of keys: those that were charged last.
func TestBound(t *testing.T) {
	h := new(ChargeHistory)
	for i := range 2 * mostChargedKeys {
		h.Add(fmt.Append(nil, "key", i), 1)
		if i%1000 == 0 {
			h.Add([]byte("always"), 2)
		}
	}
	if got := len(h.keys[0]) + len(h.keys[1]); got > mostChargedKeys {
		t.Errorf("%d keys, want %d at most", got, mostChargedKeys)
	}
	wants(t, h, "always", 2, ForeseenByKey)
	wants(t, h, "new", 1, ForeseenByAll)
}
