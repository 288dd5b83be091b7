package main

import "math"

// A shape says how the takes of a trial are spread over keys, nodes and time.
type shape struct {
	name     string
	keys     int
	exponent float64 // of the Zipf distribution of the keys; 0 if all keys are equally frequent
	pinned   bool    // all takes of a trial arrive at one node, not at random nodes
	period   float64 // seconds; takes arrive in the first tenth of each period; 0 if they arrive at any time
	spread   float64 // exponent of the Zipf distribution of the nodes; 0 if all nodes are equally busy
	moves    float64 // seconds; takes arrive at one node in the second half of each such period; 0 if never
}

// burstFraction is the fraction of a period in which takes arrive.
const burstFraction = 0.1

// shapes are the shapes on which algorithms are compared. For leases, uniform is the hardest,
// because no node can know what the other nodes are about to need. No window is a multiple of the
// periods of bursts and moving, so takes fall on all parts of a window.
var shapes = []shape{
	{name: "uniform", keys: 1},
	{name: "pinned", keys: 1, pinned: true},
	{name: "zipf", keys: 100, exponent: 1.1},
	{name: "bursts", keys: 1, period: 0.7},
	{name: "moving", keys: 1, moves: 2.7},
}

// atOneNode reports whether a take at s seconds arrives at the one node of its trial.
func (h shape) atOneNode(s float64) bool {
	return h.pinned || h.moves > 0 && 2*math.Mod(s, h.moves) >= h.moves
}

// arrival returns the instant, in seconds, at which a take arrives that would arrive at s seconds
// without bursts.
func (h shape) arrival(s float64) float64 {
	if h.period == 0 {
		return s
	}
	on := h.period * burstFraction
	s *= burstFraction // seconds within the bursts
	whole := math.Floor(s / on)
	return whole*h.period + s - whole*on
}
