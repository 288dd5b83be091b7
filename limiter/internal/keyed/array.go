package keyed

import (
	"slices"
	"unsafe"
)

// An array has the entries of one size. It reads only their heads. Groups are in the order of
// hashes: a hash has a home group, and its entry is in the first group from there on that had a
// free slot when the entry was inserted. After the last group comes the first.
type array struct {
	groups   []group
	memory   unsafe.Pointer // memory of the slots, group by group
	stride   int            // bytes from one slot to the next, a multiple of 8
	cold     unsafe.Pointer // memory of the cold values, one for each slot
	coldSize int            // bytes of a cold value; may be 0
	len      int            // number of entries. Invariant: len <= limit(len(groups)), so that a slot is free
}

func (a *array) slots() int { return len(a.groups) * groupSize }

// limit returns the most entries for this number of groups: nine tenths of the slots. Even then few
// entries are displaced, and the word of the group that they are in is mostly in the same cache
// line.
func limit(groups int) int { return groups*groupSize - groups*groupSize/10 }

// entryAt returns the memory of slot i.
func (a *array) entryAt(i int) unsafe.Pointer { return unsafe.Add(a.memory, i*a.stride) }

// coldAt returns the memory of the cold value of slot i.
func (a *array) coldAt(i int) unsafe.Pointer { return unsafe.Add(a.cold, i*a.coldSize) }

// slotOf returns the slot of the entry p.
func (a *array) slotOf(p unsafe.Pointer) int { return int(uintptr(p)-uintptr(a.memory)) / a.stride }

// home returns the home group of a hash.
func (a *array) home(hash uint32) int { return int(uint64(hash) * uint64(len(a.groups)) >> 32) }

// firstHash returns the lowest hash whose home is g.
func (a *array) firstHash(g int) uint32 {
	n := uint64(len(a.groups))
	return uint32((uint64(g)<<32 + n - 1) / n)
}

// next returns the group after g.
func (a *array) next(g int) int {
	if g++; g < len(a.groups) {
		return g
	}
	return 0
}

// find returns the slot of the entry of k, or -1. offset is where the text begins in an entry.
func (a *array) find(k *Key, offset int, spill *Spill[string]) (slot int) {
	if a.len == 0 {
		return -1
	}
	hash := uint32(k.Hash)
	tag := tagOf(hash)
	g := a.home(hash)
	for range a.groups { // at most once around, as each group may have displaced entries
		group := a.groups[g]
		for s := group.tagged(tag); s != 0; s &= s - 1 {
			i := g*groupSize + s.first()
			if p := a.entryAt(i); (*head)(p).is(k) && a.textIs(p, offset, k.Text, spill) {
				return i
			}
		}
		if !group.displaced() {
			break
		}
		g = a.next(g)
	}
	return -1
}

// textIs reports whether the text of the entry p is text. Both are spilled, or they have the same
// length: the head of p says so.
func (a *array) textIs(p unsafe.Pointer, offset int, text []byte, spill *Spill[string]) bool {
	switch {
	case len(text) == 0: // the offset may be beyond the entry
		return true
	case len(text) > MaxText:
		return spill.At(*spilledTextIn(p, a.stride)) == string(text)
	}
	return string(unsafe.Slice((*byte)(unsafe.Add(p, offset)), len(text))) == string(text)
}

// eachHash calls do with all entries that have this hash. do may remove the entry.
func (a *array) eachHash(hash uint32, do func(unsafe.Pointer)) {
	if a.len == 0 {
		return
	}
	g := a.home(hash)
	for range a.groups {
		group := a.groups[g] // as it was before do removes an entry
		for s := group.tagged(tagOf(hash)); s != 0; s &= s - 1 {
			if p := a.entryAt(g*groupSize + s.first()); (*head)(p).hash == hash {
				do(p)
			}
		}
		if !group.displaced() {
			break
		}
		g = a.next(g)
	}
}

// insert returns the slot for a new entry with this hash. Its memory is all zero.
func (a *array) insert(hash uint32) (slot int) {
	if n := len(a.groups); a.len >= limit(n) {
		// A tenth to a fifth more, by the hash: shards fill alike, and should not all grow at once.
		a.resize(n + max(1, n*int(6+hash%8)/64))
	}
	slot = a.claim(hash)
	clear(unsafe.Slice((*byte)(a.entryAt(slot)), a.stride))
	clear(unsafe.Slice((*byte)(a.coldAt(slot)), a.coldSize))
	return slot
}

// claim takes a slot for an entry with this hash. There must be a free one.
func (a *array) claim(hash uint32) (slot int) {
	g := a.home(hash)
	for ; a.groups[g].tagged(0) == 0; g = a.next(g) {
		a.groups[g].addDisplaced(1)
	}
	slot = a.groups[g].tagged(0).first()
	a.groups[g].set(slot, tagOf(hash))
	a.len++
	return g*groupSize + slot
}

// remove removes the entry p.
func (a *array) remove(p unsafe.Pointer) {
	i := a.slotOf(p)
	g := a.home((*head)(p).hash)
	for ; g != i/groupSize; g = a.next(g) {
		a.groups[g].addDisplaced(-1)
	}
	a.groups[g].free(i % groupSize)
	a.len--
}

// shrink frees memory when less than a quarter of the slots is used.
func (a *array) shrink() {
	if a.len == 0 {
		a.groups, a.memory, a.cold = nil, nil, nil
	} else if a.len < a.slots()/4 {
		a.resize(a.len/5 + 1)
	}
}

// resize moves all entries into this number of groups, or into more if the allocator rounds up.
func (a *array) resize(groups int) {
	size := groupSize * (a.stride + a.coldSize)
	words := slices.Grow([]uint64(nil), (groups*size+wordSize-1)/wordSize) // no pointers for the collector
	to := array{groups: make([]group, cap(words)*wordSize/size), stride: a.stride, coldSize: a.coldSize}
	to.memory = unsafe.Pointer(unsafe.SliceData(words))
	to.cold = to.memory
	if a.coldSize > 0 { // else the address may be beyond the memory
		to.cold = unsafe.Add(to.memory, to.slots()*to.stride)
	}
	for g, group := range a.groups {
		for s := group.used(); s != 0; s &= s - 1 {
			i := g*groupSize + s.first()
			j := to.claim((*head)(a.entryAt(i)).hash)
			copyBytes(to.entryAt(j), a.entryAt(i), a.stride)
			copyBytes(to.coldAt(j), a.coldAt(i), a.coldSize)
		}
	}
	*a = to
}

func copyBytes(to, from unsafe.Pointer, n int) {
	copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(from), n))
}
