package keyed

// A size is the room that an entry has for numbers and text. Sizes are 16 bytes apart up to 128 and
// 64 bytes apart above. Many sizes would mean many arrays; few would waste the room that entries do
// not fill.
type size uint8

const (
	wordSize = 8 // bytes of a number

	fineStep, coarseStep = 16, 64
	fineRoom             = 128 // bytes, up to which sizes are a fineStep apart
	sizeCount            = fineRoom/fineStep + (MaxNumbers*wordSize+MaxText-fineRoom+coarseStep-1)/coarseStep + 1
)

// sizeOf returns the size for so many numbers and bytes of text. A spilled text takes one number.
func sizeOf(numbers, text int) size {
	if text > MaxText {
		text = wordSize
	}
	n := numbers*wordSize + text
	if n <= fineRoom {
		return size((n + fineStep - 1) / fineStep)
	}
	return size(fineRoom/fineStep + (n-fineRoom+coarseStep-1)/coarseStep)
}

// room returns the bytes that an entry of this size has for numbers and text.
func (z size) room() int {
	if z <= fineRoom/fineStep {
		return int(z) * fineStep
	}
	return fineRoom + int(z-fineRoom/fineStep)*coarseStep
}
