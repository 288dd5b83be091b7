package memstore

import (
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/table"
)

// A form tells the counts of one algorithm, and of one number of sub-windows, from those of all others, so that none is
// ever read as another one's.
type form uint16

// farForm is set in the forms of counts that do not fit into an entry: logs, and those of more than 18 sub-windows. A shard
// keeps them aside, and the entry has the number by which they are found.
const farForm form = 1 << 15

func (f form) far() bool { return f&farForm != 0 }

// formOf returns the form of counts under a, and how many numbers their entries have.
func formOf(a limiter.Algorithm) (f form, numbers int) {
	f = form(a.Kind) | form(a.SubWindows)<<3
	if n := a.StateSize(); n > 0 && n <= table.MaxNumbers {
		return f, n
	}
	return f | farForm, 1
}
