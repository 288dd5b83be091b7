package keyed

import "unsafe"

// A Cursor is a position of a walk. The zero Cursor is at the beginning.
type Cursor struct {
	array int
	hash  uint32 // entries with lower hashes were visited
}

// Walk calls do with the entries of about n slots from c on. It moves c behind these slots, and
// reports whether there are more. So a lock need not be held for a whole walk. do may remove the
// entry.
//
// Between two calls the table may change. An entry that is there from the first call to the last is
// visited at least once, and twice only if it was moved.
func (t *Table[V, C]) Walk(c *Cursor, n int, do func(*Entry[V])) (more bool) {
	for ; c.array < len(t.arrays); *c = (Cursor{array: c.array + 1}) {
		a := &t.arrays[c.array]
		if a.len == 0 {
			continue
		}
		for g := a.home(c.hash); g < len(a.groups); g++ {
			// A walk does not stop behind a group with displaced entries, which are in later groups. A
			// resize could move them to groups before c, and they would not be visited.
			if n <= 0 && (g == 0 || !a.groups[g-1].displaced()) {
				c.hash = a.firstHash(g)
				return true
			}
			visit(a, g, do)
			n -= groupSize
		}
		// The first groups may have entries that the last ones displaced.
		for g, last := 0, len(a.groups)-1; g < last && a.groups[(g+last)%len(a.groups)].displaced(); g++ {
			visit(a, g, do)
		}
	}
	return false
}

// visit calls do with the entries in the group g of a.
func visit[V any](a *array, g int, do func(*Entry[V])) {
	for s := a.groups[g].used(); s != 0; s &= s - 1 {
		do((*Entry[V])(a.entryAt(g*groupSize + s.first())))
	}
}

// EachHash calls do with the entries whose keys' hashes have the same lower half as hash. do may
// remove the entry.
func (t *Table[V, C]) EachHash(hash uint64, do func(*Entry[V])) {
	for i := range t.arrays {
		t.arrays[i].eachHash(uint32(hash), func(p unsafe.Pointer) { do((*Entry[V])(p)) })
	}
}

// A hand is where the next sample begins.
type hand struct{ array, group int }

// Sample calls do with entries until do returns false or has seen all. It begins where the last
// sample ended and ends with a whole group, so do may be called up to six times more. do must not
// change the table.
func (t *Table[V, C]) Sample(do func(*Entry[V]) (more bool)) {
	unseen := 0 // number of groups not seen yet
	for i := range t.arrays {
		unseen += len(t.arrays[i].groups)
	}
	for more := true; more && unseen > 0; {
		h := &t.hand
		if h.array >= len(t.arrays) {
			*h = hand{}
		}
		if a := &t.arrays[h.array]; h.group < len(a.groups) {
			visit(a, h.group, func(e *Entry[V]) { more = do(e) && more })
			h.group++
			unseen--
		} else {
			*h = hand{array: h.array + 1}
		}
	}
}

// Texts calls yield with the texts of all entries, until it returns false. yield is called without
// a lock. An entry that is there all the time is visited at least once.
func (m *Map[V, C, S]) Texts(yield func(text []byte) bool) {
	var texts []byte // texts of the entries of some slots
	var ends []int
	shards := m.Shards()
	for i := range shards {
		s := &shards[i]
		for c, more := new(Cursor), true; more; {
			texts, ends = texts[:0], ends[:0]
			s.Lock()
			more = s.Entries.Walk(c, sweepSlots, func(e *Entry[V]) {
				texts = append(texts, s.Entries.Text(e)...)
				ends = append(ends, len(texts))
			})
			s.Unlock()
			begin := 0
			for _, end := range ends {
				if !yield(texts[begin:end]) {
					return
				}
				begin = end
			}
		}
	}
}
