package concurrency

import (
	"slices"
	"time"
)

// durations are how long the last requests of a key were in flight, in ms.
type durations struct {
	last [9]uint32
	n    uint8 // how many durations are known
	next uint8
}

// add adds a duration in µs.
func (d *durations) add(us int64) {
	d.last[d.next] = uint32(min(max(us, 0)/1000, 1<<32-1))
	d.next = (d.next + 1) % uint8(len(d.last))
	d.n = min(d.n+1, uint8(len(d.last)))
}

// median returns the median in µs, or 0 if no duration is known.
func (d *durations) median() int64 {
	known := d.last // a copy
	slices.Sort(known[:d.n])
	return int64(known[d.n/2]) * int64(time.Millisecond/time.Microsecond)
}
