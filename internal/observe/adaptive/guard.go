package adaptive

import (
	"slices"
	"time"
)

const (
	// window is the time over which the guard collects responses before it changes its limit.
	window = 500 * time.Millisecond

	// fewest is the least number of responses in a window. A window that has fewer goes on until it is
	// four times as long.
	fewest = 10

	// margin is the fraction of the highest latency that the guard aims at.
	margin = 0.9
)

// A guard computes a limit from the latency of responses. While the median latency is at or above
// the highest latency, the limit shrinks. While it is below, the limit grows up to most.
//
// The limit aims at the number of requests that the upstream answers within the highest latency. By
// Little's law, that is the responses per second times the highest latency. So one step leads from
// a queue of thousands to the right size. The guard does not use latencies from before an incident,
// so a long incident does not become the usual state.
type guard struct {
	highest        time.Duration
	least, most    float64 // bounds of the limit
	limit          float64
	began          time.Time          // the instant at which the window began
	latencies      [128]time.Duration // the newest latencies of the window, in a ring
	samples, ended int                // number of latencies in the window, and how many of them ended with a response
	peak           int                // the highest number of requests in flight in the window
}

func newGuard(s Settings) guard {
	return guard{highest: s.MaxLatency, least: float64(s.Min), most: float64(s.Max), limit: float64(s.Max)}
}

func (g *guard) noteInFlight(n int) { g.peak = max(g.peak, n) }

// add adds a latency at now, the instant at which the latency is known. answered is false if the
// client left before the response. inFlight is the number of requests in flight.
func (g *guard) add(now time.Time, latency time.Duration, answered bool, inFlight int) {
	if g.samples == 0 && now.Sub(g.began) > window {
		g.began = now // no request came for a while
	}
	g.latencies[g.samples%len(g.latencies)] = latency
	g.samples++
	if answered {
		g.ended++
	}
	lasted := now.Sub(g.began)
	if lasted < window || g.samples < fewest && lasted < 4*window {
		return
	}
	g.adjust(lasted)
	g.began, g.samples, g.ended, g.peak = now, 0, 0, inFlight
}

// adjust changes the limit by the latencies of a window that has lasted this long.
func (g *guard) adjust(lasted time.Duration) {
	known := slices.Clone(g.latencies[:min(g.samples, len(g.latencies))])
	slices.Sort(known)
	switch median := known[len(known)/2]; {
	case median >= g.highest:
		used := min(g.limit, float64(g.peak))
		within := float64(g.ended) / lasted.Seconds() * g.highest.Seconds() * margin
		g.limit = max(min(max(within, 0.3*used), margin*used), g.least)
	case g.limit < g.most:
		grows := min(margin*float64(g.highest)/float64(max(median, 1)), 2)
		g.limit = min(g.limit*max(grows, 1), g.most)
	}
}
