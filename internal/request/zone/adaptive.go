package zone

import (
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/adaptive"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
)

// newAdaptive returns the limiter that settings describe, nil if there are none. counters are nil
// if requests do not come.
func newAdaptive(settings *config.Adaptive, counters *usage.ZoneCounters) *adaptive.Limiter {
	if settings == nil || counters == nil {
		return nil
	}
	with := settings.WithDefaults()
	return counters.AdaptiveWith(adaptive.Settings{MaxLatency: time.Duration(with.MaxLatency), Min: with.Min, Max: with.Max})
}
