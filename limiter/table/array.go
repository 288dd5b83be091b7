package table

import (
	"slices"
	"unsafe"
)

// An array has the entries of one size. Its methods know them by their heads only. Entries belong to the group that their
// hash names, and are in the first one from there on that had a slot free when they came; after the last group comes the
// first.
type array struct {
	groups   []group
	memory   unsafe.Pointer // of the slots, one after the other; the first seven are those of the first group
	stride   int            // from one slot to the next, in bytes; a multiple of 8
	cold     unsafe.Pointer // memory of what is apart from the entries, one piece for each slot, in their order
	coldSize int            // of such a piece, in bytes; may be 0
	len      int            // entries. Invariant: len <= limit(), so there is always a slot free when an entry comes
}

// slots returns how many entries there is memory for.
func (a *array) slots() int { return len(a.groups) * groupSize }

// limit returns how many entries may be in so many groups: nine tenths of the slots. Even then few entries are not where
// they belong, and those are in one of the next groups, whose words are mostly in the same cache line.
func limit(groups int) int { return groups*groupSize - groups*groupSize/10 }

// at returns the entry in slot i of all, or its memory.
func (a *array) at(i int) unsafe.Pointer { return unsafe.Add(a.memory, i*a.stride) }

// coldAt returns the memory of what is apart from the entry in slot i.
func (a *array) coldAt(i int) unsafe.Pointer { return unsafe.Add(a.cold, i*a.coldSize) }

// slotOf returns the slot of the entry p.
func (a *array) slotOf(p unsafe.Pointer) int { return int(uintptr(p)-uintptr(a.memory)) / a.stride }

// home returns the group that entries with this hash belong to: the part of the groups that the hash is of all hashes.
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

// find returns the slot of the entry of k, whose text begins at this offset in its entry, or -1 when there is none.
func (a *array) find(k *Key, textOffset int) (slot int) {
	if a.len == 0 {
		return -1
	}
	hash := uint32(k.Hash)
	mark := tagOf(hash)
	g := a.home(hash)
	for range a.groups { // once around: something may have gone by each
		word := a.groups[g]
		for s := word.tagged(mark); s != 0; s = s.rest() {
			i := s.firstIn(g)
			if p := a.at(i); (*head)(p).is(k) && textIs(p, textOffset, k.Text) {
				return i
			}
		}
		if !word.passed() {
			break
		}
		g = a.next(g)
	}
	return -1
}

// is reports whether h is what k says, but for the text.
func (h *head) is(k *Key) bool {
	return h.hash == uint32(k.Hash) && h.id == k.ID && h.form == k.Form && int(h.length) == len(k.Text)
}

// textIs reports whether the text at this offset in the entry p, which is of the same length, is text.
func textIs(p unsafe.Pointer, offset int, text []byte) bool {
	if len(text) == 0 { // the offset may be beyond the entry
		return true
	}
	return string(unsafe.Slice((*byte)(unsafe.Add(p, offset)), len(text))) == string(text)
}

// eachHash calls do with all entries with this hash. do may take out the one that it is called with.
func (a *array) eachHash(hash uint32, do func(unsafe.Pointer)) {
	if a.len == 0 {
		return
	}
	mark := tagOf(hash)
	g := a.home(hash)
	for range a.groups {
		last := !a.groups[g].passed() // before do takes out what went by
		for s := a.groups[g].tagged(mark); s != 0; s = s.rest() {
			if p := a.at(s.firstIn(g)); (*head)(p).hash == hash {
				do(p)
			}
		}
		if last {
			break
		}
		g = a.next(g)
	}
}

// insert returns the slot, all zero, of a new entry with this hash, which the caller writes into its head.
func (a *array) insert(hash uint32) (slot int) {
	if a.len >= limit(len(a.groups)) {
		a.grow(hash)
	}
	slot = a.place(hash)
	clear(unsafe.Slice((*byte)(a.at(slot)), a.stride))
	clear(unsafe.Slice((*byte)(a.coldAt(slot)), a.coldSize))
	return slot
}

// place takes a slot for an entry with this hash. There must be one.
func (a *array) place(hash uint32) (slot int) {
	g := a.home(hash)
	for ; a.groups[g].tagged(0) == 0; g = a.next(g) {
		a.groups[g].pass()
	}
	slot = a.groups[g].tagged(0).first()
	a.groups[g].set(slot, tagOf(hash))
	a.len++
	return g*groupSize + slot
}

// remove takes out the entry p, which has this hash.
func (a *array) remove(hash uint32, p unsafe.Pointer) {
	i := a.slotOf(p)
	g := a.home(hash)
	for ; g != i/groupSize; g = a.next(g) {
		a.groups[g].unpass()
	}
	a.groups[g].free(i % groupSize)
	a.len--
}

// grow makes room for an entry with this hash at least: a tenth to a fifth more, as the hash says, so that the shards of
// a store, which fill alike, do not all grow at the same time.
func (a *array) grow(hash uint32) {
	n := len(a.groups)
	a.resize(n + max(1, n*int(6+hash%8)/64))
}

// shrink gives memory back when less than a quarter of the slots is used.
func (a *array) shrink() {
	if a.len == 0 {
		a.groups, a.memory, a.cold = nil, nil, nil
	} else if a.len < a.slots()/4 {
		a.resize(a.len/5 + 1)
	}
}

// resize moves all entries into so many groups, or some more when the allocator has no piece of memory that is as small.
func (a *array) resize(groups int) {
	size := groupSize * (a.stride + a.coldSize)
	words := slices.Grow([]uint64(nil), (groups*size+wordSize-1)/wordSize) // without pointers, as the collector sees it
	to := array{groups: make([]group, cap(words)*wordSize/size), stride: a.stride, coldSize: a.coldSize}
	to.memory = unsafe.Pointer(unsafe.SliceData(words))
	to.cold = to.memory
	if a.coldSize > 0 { // else the memory may end behind the entries
		to.cold = unsafe.Add(to.memory, to.slots()*to.stride)
	}
	for g, word := range a.groups {
		for s := word.used(); s != 0; s = s.rest() {
			i := s.firstIn(g)
			j := to.place((*head)(a.at(i)).hash)
			copyBytes(to.at(j), a.at(i), a.stride)
			copyBytes(to.coldAt(j), a.coldAt(i), a.coldSize)
		}
	}
	*a = to
}

// copyBytes copies so many bytes.
func copyBytes(to, from unsafe.Pointer, n int) {
	copy(unsafe.Slice((*byte)(to), n), unsafe.Slice((*byte)(from), n))
}
