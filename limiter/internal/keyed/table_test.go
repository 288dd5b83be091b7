package keyed

import (
	"fmt"
	"strings"
	"testing"
)

// TestTableLikeMap compares a table with a Go map while keys of all layouts and lengths come and
// go, many of them with the same hash, and while the table grows and shrinks.
func TestTableLikeMap(t *testing.T) {
	steps := 40_000
	if raceEnabled { // in one goroutine, only a wrong pointer can be found
		steps /= 4
	}
	for seed := range uint64(6) {
		m := newModel(seed)
		for i := range steps {
			if err := m.step(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
			if i%(steps/8) > 0 {
				continue
			}
			if m.spread = []int{3, 500, 5000}[m.IntN(3)]; m.hashes < 50 {
				m.spread = min(m.spread, 500)
			}
			m.shed()
			if err := m.checkAll(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
		}
	}
}

func TestInsertRefuses(t *testing.T) {
	refuses := func(what, want string, insert func()) {
		t.Helper()
		defer func() {
			if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
				t.Errorf("insert of %s: panic %q, want one that says %q", what, got, want)
			}
		}()
		insert()
	}
	refuses("25 numbers", "want 0 to 24", func() { new(Table[int64, struct{}]).Insert(&Key{Numbers: MaxNumbers + 1}) })
	refuses("a T with a pointer", "use a Spill", func() { new(Table[struct{ p *int }, struct{}]).Insert(&Key{}) })
	refuses("a C with a pointer", "use a Spill", func() { new(Table[struct{}, struct{ p *int }]).Insert(&Key{}) })
}

func TestShrink(t *testing.T) {
	var table Table[int64, struct{}]
	for i := range 5000 {
		*table.Insert(&Key{Hash: uint64(i) * 0x9E3779B97F4A7C15}).Value() = int64(i)
	}
	table.Walk(new(Cursor), table.slots(), func(e *Entry[int64]) {
		if *e.Value()%20 > 0 {
			table.Remove(e)
		}
	})
	before := table.slots()
	table.Shrink()
	if got := table.slots(); table.len != 250 || got < 250 || got > 500 {
		t.Errorf("slots for %d entries that remain of 5000 = %d, before Shrink %d, want at most 500 for 250", table.len, got, before)
	}
	for i := 0; i < 5000; i += 20 {
		found := false
		table.EachHash(uint64(i)*0x9E3779B97F4A7C15, func(e *Entry[int64]) { found = found || *e.Value() == int64(i) })
		if !found {
			t.Errorf("entry %d is gone", i)
		}
	}
}

// TestEmptyTableHasNoMemory makes a table grow and then removes everything.
func TestEmptyTableHasNoMemory(t *testing.T) {
	m := newModel(2)
	for range 3000 {
		if err := m.step(); err != nil {
			t.Fatal(err)
		}
	}
	m.Walk(new(Cursor), m.slots(), func(e *Entry[[3]int64]) { m.remove(e) })
	m.Shrink()
	if m.len != 0 || m.slots() != 0 || len(m.texts.values) != 0 {
		t.Errorf("entries = %d, slots = %d, spilled texts = %d, want 0 of each", m.len, m.slots(), len(m.texts.values))
	}
}
