package main

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// headStart is how long before the start of a run its windows may have begun, in µs.
const headStart = 5_000

// windowAt returns the length nearest to nominal with which a window begins at the instant start, or up to headStart before.
//
// Windows follow each other from the Unix epoch. A run that has to begin with an hour would be waited for up to an hour; but as
// some 500,000 hours have passed since 1970, a window that is longer by some ms has another phase altogether. Lengths differ from
// the nominal ones by less than 1 %.
func windowAt(start limiter.Instant, nominal time.Duration) time.Duration {
	length := nominal.Microseconds()
	for off := int64(0); ; off++ {
		for _, l := range []int64{length + off, length - off} {
			if int64(start)%l <= headStart {
				return time.Duration(l) * time.Microsecond
			}
		}
	}
}
