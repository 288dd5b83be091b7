package memstore

import (
	"unsafe"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	wordSize = int(unsafe.Sizeof(int64(0)))
	headSize = int(unsafe.Offsetof(entry{}.numbers))
)

// What is longer is kept aside.
const (
	maxNumbers = 24  // numbers of a State: 18 sub-windows
	maxText    = 256 // bytes of a key: the longest that the handler makes
)

// A size says how long an entry is. It takes as many cells as it needs for what stands in it, from minCells on: with a key
// of 16 bytes, 80 bytes for a token bucket or a fixed window and 112 for a sliding window. Above fineCells sizes are four
// cells apart: each size that occurs has pages of its own.
//
// The shorter entries are, the more of them are in the processor's caches; up to 80 bytes, each is in two lines of them.
type size uint8

const (
	minCells  = int(unsafe.Sizeof(entry{})) / cellSize
	fineCells = 8
	maxCells  = (headSize + maxNumbers*wordSize + maxText + cellSize - 1) / cellSize
	sizeCount = fineCells - minCells + (maxCells-fineCells+3)/4 + 1
)

// sizeOf returns the size of an entry with so many numbers and bytes of text.
func sizeOf(numbers, text int) size {
	cells := (headSize + numbers*wordSize + text + cellSize - 1) / cellSize
	if cells > fineCells {
		return size(fineCells - minCells + (cells-fineCells+3)/4)
	}
	return size(max(0, cells-minCells))
}

// cells returns how many cells an entry of this size takes.
func (z size) cells() int {
	cells := minCells + int(z)
	if cells > fineCells {
		cells += (cells - fineCells) * 3
	}
	return cells
}

// A form tells the counts of one algorithm, and of one number of sub-windows, from those of all others, so that none is
// ever read as another one's. The zero form is that of a free slot.
type form uint16

func formOf(a limiter.Algorithm) form { return form(a.Kind) + 1 + form(a.SubWindows)<<3 }

// numbersIn returns how many numbers of a count under a stand in its entry, 0 when the count is kept aside.
func numbersIn(a limiter.Algorithm) int {
	if n := a.StateSize(); n <= maxNumbers {
		return n
	}
	return 0
}

// state returns the first n numbers of e: its count.
func (e *entry) state(n int) limiter.State { return unsafe.Slice(&e.numbers[0], n) }

// text returns the key that stands in e behind n numbers.
func (e *entry) text(n int) []byte {
	if e.length == 0 || e.length == textAside { // nothing does, and the first byte of it may be beyond e
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&e.numbers), n*wordSize)), e.length)
}
