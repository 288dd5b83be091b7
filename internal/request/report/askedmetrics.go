package report

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
)

var descAsked = desc("zone_store_seconds", "How long requests waited for decisions of a zone for which Redis was asked; only for "+
	"zones with such decisions.", "zone")

// longestAsked is the highest bound of the buckets, in seconds. A node waits for Redis for a shorter time.
const longestAsked = 1

// collectAsked collects how long the decisions of a zone took for which Redis was asked.
func (s scrape) collectAsked(z *usage.ZoneCounters) {
	count, seconds, upTo := z.Asked.Histogram()
	if count == 0 {
		return
	}
	maps.DeleteFunc(upTo, func(bound float64, _ uint64) bool { return bound > longestAsked })
	s <- prometheus.MustNewConstHistogram(descAsked, count, seconds, upTo, z.Name)
}
