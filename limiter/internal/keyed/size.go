package keyed

// A size is the room that an entry has for numbers and text, in steps of 16 bytes. Entries of one
// size share an array. Smaller steps would make more arrays, larger ones would waste more room.
type size uint8

const (
	wordSize  = 8 // bytes of a number
	sizeStep  = 16
	sizeCount = (MaxNumbers*wordSize+MaxText)/sizeStep + 1
)

// sizeOf returns the size for this many numbers and bytes of text. A spilled text takes one number.
func sizeOf(numbers, text int) size {
	if text > MaxText {
		text = wordSize
	}
	return size((numbers*wordSize + text + sizeStep - 1) / sizeStep)
}

// room returns the bytes that an entry of this size has for numbers and text.
func (z size) room() int { return int(z) * sizeStep }
