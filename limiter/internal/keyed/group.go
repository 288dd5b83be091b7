package keyed

import "math/bits"

// A group describes seven slots, so that most look-ups read one entry: the right one. Each of the
// lower seven bytes is 0 when its slot is free, else the tag of the entry there. The highest byte
// counts the displaced entries: their home is this group or one before it, but they are in a later
// group, because this one was full.
type group uint64

const (
	groupSize = 7 // slots

	eachSlot     = 0x00_01_01_01_01_01_01_01 // 1 in the byte of each slot
	oneDisplaced = 1 << 56

	// maxDisplaced stands for 255 displaced entries or more. A count that has reached it stays there,
	// which only makes searches longer. That takes hundreds of entries with the same few hashes.
	maxDisplaced = 255
)

// tagOf returns the tag of entries with this hash, 1 to 255. It comes from the lower bits, as the
// upper ones choose the group.
func tagOf(hash uint32) group { return group(hash&0xFFFF*255>>16 + 1) }

// A slotSet has the highest bit set in the byte of each slot that belongs to it. The loop "for s :=
// set; s != 0; s &= s - 1" visits them.
type slotSet uint64

// tagged returns the slots with this tag, or the free ones when tag is 0.
func (g group) tagged(tag group) slotSet {
	const low = eachSlot * 0x7F // the lower bits of each byte
	x := g ^ tag*eachSlot       // 0 in the bytes that match
	// The sum sets a byte's highest bit when any lower bit is set. Nothing carries into the next
	// byte.
	return slotSet(^((x&low + low) | x | low) & (eachSlot << 7))
}

// used returns the slots that have entries.
func (g group) used() slotSet { return g.tagged(0) ^ eachSlot<<7 }

// first returns the first slot of s, which must not be empty.
func (s slotSet) first() int { return bits.TrailingZeros64(uint64(s)) / 8 }

// set gives a free slot this tag.
func (g *group) set(slot int, tag group) { *g |= tag << (8 * slot) }

// free makes a slot free.
func (g *group) free(slot int) { *g &^= 0xFF << (8 * slot) }

// displaced reports whether an entry may be in a later group because g was full.
func (g group) displaced() bool { return g >= oneDisplaced }

// addDisplaced counts n more displaced entries; n is 1 or -1.
func (g *group) addDisplaced(n int) {
	if *g < maxDisplaced*oneDisplaced {
		*g += group(n) * oneDisplaced
	}
}
