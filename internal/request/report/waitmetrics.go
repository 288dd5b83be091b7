package report

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
)

var (
	descWaits = desc("wait_seconds", "How long requests waited for their turn, those that were admitted after it; only for zones "+
		"with `wait`.", "zone")
	descWaiting = desc("waiting", "Requests that wait for their turn on this node, or are being decided; only for zones with "+
		"`wait`.", "zone")
	descLeft = desc("wait_left_total", "Turns of requests whose client left before: given_back to the next request, or lost; only "+
		"for zones with `wait`.", "zone", "turn")
	descFull = desc("wait_full_total", "Requests that were rejected because too many waited already; only for zones with `wait`.",
		"zone")
)

// collectWaits collects how long requests have waited for their turn in a zone.
func (s scrape) collectWaits(z *usage.ZoneCounters) {
	w := &z.Waits
	if !w.Used.Load() {
		return
	}
	count, seconds, upTo := w.Waited.Histogram()
	s <- prometheus.MustNewConstHistogram(descWaits, count, seconds, upTo, z.Name)
	s.gauge(descWaiting, float64(w.Waiting()), z.Name)
	s.count(descLeft, w.GivenBack.Load(), z.Name, "given_back")
	s.count(descLeft, w.Lost.Load(), z.Name, "lost")
	s.count(descFull, w.Full.Load(), z.Name)
}
