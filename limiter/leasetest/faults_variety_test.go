package leasetest

import (
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// varietyFaults are those of what happens in some fleets besides takes.
var varietyFaults = []fault{
	{
		name:       "clocks that are wrong by a tenth",
		boundsOnly: true,
		algorithm:  &bucket,
		limit:      limiter.Limit{Events: 400, Window: 10 * time.Second},
		variety:    variety{drift: 250 * mostDrift},
		prepare:    strikeFast,
	},
}
