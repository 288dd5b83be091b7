package table

// A size says how much an entry has room for besides its T: numbers and text. Sizes are 16 bytes apart up to 128, 64 bytes
// above. Each size that occurs has an array of its own, so there should not be many; and what an entry does not fill is
// lost, so there should not be few.
type size uint8

const (
	step, coarseStep = 16, 64
	fine             = 128 // bytes, up to which sizes are a step apart
	sizeCount        = fine/step + (MaxNumbers*8+MaxText-fine+coarseStep-1)/coarseStep + 1
)

// sizeOf returns the size of an entry with so many numbers and bytes of text. Text of more than MaxText bytes takes no more
// than the number by which it is found.
func sizeOf(numbers, text int) size {
	if text > MaxText {
		text = wordSize
	}
	n := numbers*wordSize + text
	if n <= fine {
		return size((n + step - 1) / step)
	}
	return size(fine/step + (n-fine+coarseStep-1)/coarseStep)
}

// room returns how many bytes an entry of this size has room for.
func (z size) room() int {
	if z <= fine/step {
		return int(z) * step
	}
	return fine + int(z-fine/step)*coarseStep
}
