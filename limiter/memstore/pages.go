package memstore

import "unsafe"

// A slot is where an entry of a shard is, counted in cells: half of a pointer, and nothing to the garbage collector.
type slot uint32

// none is the slot of no entry.
const none slot = 0

// A cell is a piece of an entry. As numbers, it is memory that the garbage collector passes over.
type cell [2]int64

const cellSize = int(unsafe.Sizeof(cell{})) // bytes

// pageSize is how many cells get their memory together: 4 KB. A table that is hardly used has 64 pages hardly used.
const pageSize = 256

// A page holds entries of one size, one after the other.
type page [pageSize]cell

// pages are the memory of a shard's entries. An entry stays where it is as long as it is in use.
type pages struct {
	all   []*page         // the slot s begins in all[s/pageSize]
	sizes []size          // of the entries in each page
	room  int             // entries that there is memory for
	free  [sizeCount]slot // by size, the first of a chain through next
}

// at returns the entry in the slot s, which must not be none. (An index into the page would have it checked for nil,
// which is to wait for its first bytes as well.)
func (p *pages) at(s slot) *entry {
	return (*entry)(unsafe.Add(unsafe.Pointer(p.all[s/pageSize]), int(s%pageSize)*cellSize))
}

// cells returns the memory of the entry in the slot s.
func (p *pages) cells(s slot) []cell {
	return p.all[s/pageSize][s%pageSize:][:p.sizes[s/pageSize].cells()]
}

// get returns a slot for an entry of the size z. Its memory is all zero but for next.
func (p *pages) get(z size) slot {
	if p.free[z] == none {
		p.grow(z)
	}
	s := p.free[z]
	p.free[z] = p.at(s).next
	return s
}

// put takes back the slot s.
func (p *pages) put(s slot) {
	clear(p.cells(s))
	p.chain(s)
}

// chain makes s the first of the free slots of its size.
func (p *pages) chain(s slot) {
	z := p.sizes[s/pageSize]
	p.at(s).next, p.free[z] = p.free[z], s
}

// grow adds a page for entries of the size z.
func (p *pages) grow(z size) {
	first, n := slot(len(p.all))*pageSize, slot(z.cells())
	p.all, p.sizes = append(p.all, new(page)), append(p.sizes, z)
	for s := first; s+n <= first+pageSize; s += n {
		if s != none {
			p.chain(s)
			p.room++
		}
	}
}

// each calls do with the entries of n pages from the given one on, or of as many as there are, in the order of memory. do
// may take out the entry.
func (p *pages) each(from, n int, do func(slot, *entry)) {
	for i := from; i < min(from+n, len(p.all)); i++ {
		first, n := slot(i)*pageSize, slot(p.sizes[i].cells())
		for s := first; s+n <= first+pageSize; s += n {
			if e := p.at(s); e.form != 0 {
				do(s, e)
			}
		}
	}
}
