package leasetest

import (
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// vain is what was served in vain and canceled later. While a bucket waits for several cancels, each
// of them counts the events of the others as lacking, although they come back: so as much may be given
// back too much. One cancel at a time is exact.
type vain []canceled

// canceled are n events from when they were served until they were canceled.
type canceled struct {
	from, until limiter.Instant
	n           int64
}

func (v *vain) add(e limiter.Events, until limiter.Instant) {
	if e.N > 0 {
		*v = append(*v, canceled{e.At, until, e.N})
	}
}

// overlapping returns those that were to be canceled while others were.
func (v vain) overlapping() (some vain) {
	slices.SortFunc(v, func(a, b canceled) int { return int(a.from - b.from) })
	latest := limiter.Instant(0) // until when those before last
	for i, e := range v {
		if e.from <= latest || i+1 < len(v) && v[i+1].from <= e.until {
			some = append(some, e)
		}
		latest = max(latest, e.until)
	}
	return some
}

// pending returns how many events were still to be canceled at the instant at. It forgets those
// that were canceled before.
func (v *vain) pending(at limiter.Instant) (n float64) {
	kept := 0
	for i, e := range *v {
		if e.from > at {
			break
		}
		if e.until >= at {
			n += float64(e.n)
		} else { // those before it move up
			copy((*v)[kept+1:i+1], (*v)[kept:i])
			kept++
		}
	}
	*v = (*v)[kept:]
	return n
}

// after returns what was served after the instant at: the bucket gets nothing else back since.
func (v vain) after(at limiter.Instant) vain {
	for len(v) > 0 && v[0].from <= at {
		v = v[1:]
	}
	return slices.Clone(v)
}
