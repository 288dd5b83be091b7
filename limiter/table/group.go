package table

import "math/bits"

// A group says what is in the seven slots that it stands for, so that most searches look at one entry, the right one. It
// has a byte for each slot, from the lowest on: 0 when the slot is free, else the mark of its entry. The highest byte is
// how many entries went by: they belong here or further ahead, and are behind because this group was full.
type group uint64

// groupSize is how many slots a group has.
const groupSize = 7

const (
	each = 0x00_01_01_01_01_01_01_01 // 1 in the byte of each slot
	past = 1 << 56                   // one entry that went by

	// pastMost says that so many or more went by: it is not counted on, nor back. It takes hundreds of entries with the
	// same few hashes.
	pastMost = 255
)

// tagOf returns the mark of entries with this hash: a number from 1 to 255 from its lower bits, as its upper ones chose
// the group.
func tagOf(hash uint32) group { return group(hash&0xFFFF*255>>16 + 1) }

// slots are some of the slots of a group: the highest bit in the byte of each.
type slots uint64

// tagged returns the slots with this mark; with 0, those that are free.
func (g group) tagged(mark group) slots {
	const low = each * 0x7F // the lower bits of each byte
	x := g ^ mark*each      // 0 in the bytes that are meant
	// The highest bit of a byte is set by the sum when any lower one is, and nothing is carried over into the next byte.
	return slots(^((x&low + low) | x | low) & (each << 7))
}

// used returns the slots that have entries.
func (g group) used() slots { return g.tagged(0) ^ each<<7 }

// first returns the first of the slots, of which there must be one.
func (s slots) first() int { return bits.TrailingZeros64(uint64(s)) / 8 }

// firstIn returns which of all slots the first of these is, when they are those of the group g.
func (s slots) firstIn(g int) int { return g*groupSize + s.first() }

// rest returns the slots but for the first.
func (s slots) rest() slots { return s & (s - 1) }

// set gives a slot that is free this mark.
func (g *group) set(slot int, mark group) { *g |= mark << (8 * slot) }

// free makes a slot free.
func (g *group) free(slot int) { *g &^= 0xFF << (8 * slot) }

// passed reports whether an entry that belongs here or further ahead may be behind g.
func (g group) passed() bool { return g >= past }

// pass counts one more entry that goes by.
func (g *group) pass() {
	if *g < pastMost*past {
		*g += past
	}
}

// unpass counts one entry less that went by.
func (g *group) unpass() {
	if *g < pastMost*past {
		*g -= past
	}
}
