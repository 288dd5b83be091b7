package fleetlimit

import (
	"hash/maphash"
	"strconv"
	"testing"
)

// All keys that were added are found, and few others get past the filter.
func TestKeyTable(t *testing.T) {
	for _, n := range []int{0, 1, 3, 5000} {
		table := newKeyTable(n)
		for i := range n {
			key := []byte("key-" + strconv.Itoa(i))
			if first := table.add(key); first != table.add(key) {
				t.Errorf("of %d keys, %s is added twice", n, key)
			}
		}
		passed := 0
		for i := range 2 * n {
			key := []byte("key-" + strconv.Itoa(i))
			if found := table.of(key) != nil; found != (i < n) {
				t.Errorf("of %d keys, %s is found: %v", n, key, found)
			}
			if word, bits := table.filtered(maphash.Bytes(table.seed, key)); i >= n && *word&bits == bits {
				passed++
			}
		}
		if n >= 1000 && passed > n/20 {
			t.Errorf("%d of %d other keys pass the filter, want a twentieth at most", passed, n)
		}
	}
	small := newKeyTable(1)
	for i := range 100 {
		small.add([]byte(strconv.Itoa(i))).tiers = []expiring[int]{{value: i}}
	}
	for i := range 100 {
		if e := small.of([]byte(strconv.Itoa(i))); e == nil || e.tiers[0].value != i {
			t.Errorf("the entries of key %d in a table that has grown are %+v", i, e)
		}
	}
	none := newKeyTable(0)
	if none.of([]byte("key")) != nil {
		t.Error("a table without keys has one")
	}
}
