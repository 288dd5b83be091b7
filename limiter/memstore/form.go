package memstore

import (
	"github.com/fleetlimit/fleetlimit/internal/keyed"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A layout tells the counts of one algorithm, and of one number of sub-windows, from those of all others, so that none is
// ever read as another one's.
type layout uint16

// farLayout is set in the forms of counts that do not fit into an entry: logs, and those of more than 18 sub-windows. A shard
// keeps them aside, and the entry has the number by which they are found.
const farLayout layout = 1 << 15

func (f layout) far() bool { return f&farLayout != 0 }

// layoutOf returns the form of counts under a, and how many numbers their entries have.
func layoutOf(a limiter.Algorithm) (f layout, numbers int) {
	f = layout(a.Kind) | layout(a.SubWindows)<<3
	if n := a.StateSize(); n > 0 && n <= keyed.MaxNumbers {
		return f, n
	}
	return f | farLayout, 1
}
