package gateway

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkWait sends 120 requests a second to a limit of 100 for ten seconds. It reports how many
// were admitted, how long the longest wait was, and how late requests began: how long after the
// instant at which the bucket had an event for the request.
func BenchmarkWait(b *testing.B) {
	h := provisioned(b, keyed("bench_wait", `"limit": "100/1s burst 1", "wait": "500ms"`))
	for b.Loop() {
		c := newCrowd(h)
		for i := range time.Duration(1200) {
			<-time.After(time.Until(c.start.Add(i * time.Second / 120)))
			c.send(b.Context(), "k")
		}
		admitted := c.admitted()
		var late []time.Duration
		instant, longest := -10*time.Millisecond, time.Duration(0)
		for _, r := range admitted {
			instant = max(r.arrived, instant+10*time.Millisecond)
			late = append(late, r.began-instant)
			longest = max(longest, r.began-r.arrived)
		}
		slices.Sort(late)
		b.ReportMetric(float64(len(admitted)), "admitted")
		b.ReportMetric(longest.Seconds()*1000, "ms-longest-wait")
		b.ReportMetric(late[len(late)/2].Seconds()*1000, "ms-late-p50")
		b.ReportMetric(late[len(late)*98/100].Seconds()*1000, "ms-late-p98")
		b.ReportMetric(late[len(late)-1].Seconds()*1000, "ms-late-most")
	}
}
