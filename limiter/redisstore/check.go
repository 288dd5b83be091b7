package redisstore

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// maxPeriod is the longest period of a bucket, in microseconds, whose fractions fit into a value: see token_bucket.lua.
const maxPeriod = 1 << 44

// Check returns an error when the counts of a rule cannot be kept exactly.
func Check(r *limiter.Rule) error {
	if r.Algorithm.Kind != limiter.TokenBucket {
		return nil
	}
	if _, period := r.Rate(); period > maxPeriod {
		return fmt.Errorf("%d events per %v cannot be counted exactly in Redis: use a shorter window, a number of events that "+
			"has more divisors in common with the window (such as 1000), or another algorithm; %v in lowest terms is above %v",
			r.Limit.Events, r.Limit.Window, time.Duration(period)*time.Microsecond, maxPeriod*time.Microsecond)
	}
	return nil
}
