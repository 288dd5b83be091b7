package adaptive

import (
	"slices"
	"time"
)

const (
	// window is how long responses are looked at before the guard changes its limit.
	window = 500 * time.Millisecond

	// fewest is how many responses a window has, unless it is four times as long.
	fewest = 10

	// margin is how much of the highest latency the guard aims at.
	margin = 0.9
)

// A guard bounds the limit by the latency of responses: a pure calculator. While the median is not
// below the highest latency, the limit shrinks. Below, it grows until nothing is left of the bound.
//
// The limit aims at the number of requests that the upstream answers within the highest latency, by
// Little's law: the responses per second times that latency. So it takes one step from a queue of
// thousands to the right size. What the latency was before an incident has no part in it, so a long
// incident does not become the usual state.
type guard struct {
	highest        time.Duration
	least, most    float64 // bounds of the limit
	limit          float64
	began          time.Time          // the window
	latencies      [128]time.Duration // of the last responses in the window
	samples, ended int                // of them all, and those that have ended with a response
	peak           int                // the most requests in flight in the window
}

func newGuard(s Settings) guard {
	return guard{highest: s.MaxLatency, least: float64(s.Min), most: float64(s.Max), limit: float64(s.Max)}
}

// noteInFlight notes how many requests are in flight.
func (g *guard) noteInFlight(n int) { g.peak = max(g.peak, n) }

// add adds a latency, at the instant at which it is known. answered is false if the client went away
// before the response. inFlight is the number of requests in flight.
func (g *guard) add(now time.Time, latency time.Duration, answered bool, inFlight int) {
	if g.samples == 0 && now.Sub(g.began) > window {
		g.began = now // after a pause
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

// adjust changes the limit by the responses of a window that has lasted so long.
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
