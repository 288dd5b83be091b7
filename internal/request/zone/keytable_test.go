package zone

import (
	"strconv"
	"testing"
	"time"
)

// All keys that were added are found, and few others get past the filter.
func TestKeyTable(t *testing.T) {
	for _, n := range []int{0, 1, 3, 5000} {
		table := newKeyTable[int](n)
		for i := range n {
			key := []byte("key-" + strconv.Itoa(i))
			if first := table.add(key); first != table.add(key) {
				t.Errorf("of %d keys, %s is added twice", n, key)
			}
		}
		passed := 0
		for i := range 2 * n {
			key := []byte("key-" + strconv.Itoa(i))
			if found := table.find(key) != nil; found != (i < n) {
				t.Errorf("of %d keys, %s is found: %v", n, key, found)
			}
			if word, bits := table.filtered(key); i >= n && *word&bits == bits {
				passed++
			}
		}
		if n >= 1000 && passed > n/20 {
			t.Errorf("%d of %d other keys pass the filter, want a twentieth at most", passed, n)
		}
	}
	none := newKeyTable[int](0)
	if none.find([]byte("key")) != nil {
		t.Error("a table without keys has one")
	}
}

// BenchmarkKeyTable measures the lookup of keys that have no entries, among 100,000 that have. The
// quickest batch counts.
func BenchmarkKeyTable(b *testing.B) {
	const batch = 10_000
	table, others := newKeyTable[int](100_000), make([][]byte, batch)
	for i := range 100_000 {
		table.add([]byte("overridden-" + strconv.Itoa(i)))
	}
	for i := range others {
		others[i] = []byte("key-" + strconv.Itoa(i))
	}
	var filtered, mapped time.Duration
	least := func(d *time.Duration, of func(key []byte) *int) {
		start := time.Now()
		for _, key := range others {
			if of(key) != nil {
				b.Fatalf("%s has entries", key)
			}
		}
		if took := time.Since(start); *d == 0 || took < *d {
			*d = took
		}
	}
	for b.Loop() {
		least(&filtered, table.find)
		least(&mapped, func(key []byte) *int { return table.entries[string(key)] })
	}
	b.ReportMetric(float64(filtered.Nanoseconds())/batch, "ns-of-table")
	b.ReportMetric(float64(mapped.Nanoseconds())/batch, "ns-of-map")
}
