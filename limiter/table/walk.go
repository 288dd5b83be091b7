package table

import "unsafe"

// A Cursor is how far a walk has come. The zero Cursor is at the beginning.
type Cursor struct {
	array int
	hash  uint32 // entries with lower ones were visited
}

// Walk calls do with the entries from c on, and moves c behind them. It looks at some n slots and reports whether there
// are more; so a lock need not be held longer than that takes.
//
// Between two calls entries may come and go, and the table may grow or shrink. An entry that is there from the first to the
// last is visited at least once; twice, if at all, where it was moved. do may remove the entry that it is called with.
func (t *Table[T, C]) Walk(c *Cursor, n int, do func(*Entry[T])) (more bool) {
	for ; c.array < len(t.arrays); *c = (Cursor{array: c.array + 1}) {
		a := &t.arrays[c.array]
		if a.len == 0 {
			continue
		}
		for g := a.home(c.hash); g < len(a.groups); g++ {
			// It stops only where no entry that belongs ahead is behind: else, moved when the array grows, it could be
			// ahead of c and not be visited at all.
			if n <= 0 && (g == 0 || !a.groups[g-1].passed()) {
				c.hash = a.firstHash(g)
				return true
			}
			visit(a, g, do)
			n -= groupSize
		}
		// Those that belong to the last groups may be in the first ones.
		for g, last := 0, len(a.groups)-1; g < last && a.groups[(g+last)%len(a.groups)].passed(); g++ {
			visit(a, g, do)
		}
	}
	return false
}

// visit calls do with the entries in the group g of a.
func visit[T any](a *array, g int, do func(*Entry[T])) {
	for s := a.groups[g].used(); s != 0; s = s.rest() {
		do((*Entry[T])(a.at(s.firstIn(g))))
	}
}

// EachHash calls do with all entries whose keys have a hash with the same lower half as this one. do may remove the entry
// that it is called with.
func (t *Table[T, C]) EachHash(hash uint64, do func(*Entry[T])) {
	for i := range t.arrays {
		t.arrays[i].eachHash(uint32(hash), func(p unsafe.Pointer) { do((*Entry[T])(p)) })
	}
}

// A hand is where the next sample begins.
type hand struct{ array, group int }

// Sample calls do with a few entries after another, from where the last sample ended, until do has had enough or has seen
// all. It ends at the end of a group: do may be called up to six times more than it wants. do must not change the table.
func (t *Table[T, C]) Sample(do func(*Entry[T]) (more bool)) {
	left := 0 // groups that were not looked at
	for i := range t.arrays {
		left += len(t.arrays[i].groups)
	}
	for more := true; more && left > 0; {
		h := &t.hand
		if h.array >= len(t.arrays) {
			*h = hand{}
		}
		if a := &t.arrays[h.array]; h.group < len(a.groups) {
			visit(a, h.group, func(e *Entry[T]) { more = do(e) && more })
			h.group++
			left--
		} else {
			*h = hand{array: h.array + 1}
		}
	}
}
