package sim

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A timeline counts decisions by minute.
type timeline struct {
	begin   int64 // the first minute, in minutes since the Unix epoch
	minutes []Minute
}

// A Minute counts the decisions of one minute.
type Minute struct {
	At       time.Time `json:"at"`
	Admitted int64     `json:"admitted"`
	Rejected int64     `json:"rejected"`
}

// maxMinutes is the highest number of minutes in a timeline: a year. Later requests count in its last
// minute.
const maxMinutes = 366 * 24 * 60

func (t *timeline) add(at limiter.Instant, ok bool) {
	n := int64(at) / minute
	if t.minutes == nil {
		t.begin = n
	}
	for i := min(n-t.begin, maxMinutes); int64(len(t.minutes)) <= i; {
		t.minutes = append(t.minutes, Minute{At: time.Unix((t.begin+int64(len(t.minutes)))*60, 0).UTC()})
	}
	m := &t.minutes[min(n-t.begin, maxMinutes)]
	if ok {
		m.Admitted++
	} else {
		m.Rejected++
	}
}
