package main

import "math"

// A shape is how the takes of a trial are spread over keys, nodes and time.
type shape struct {
	name     string
	keys     int
	exponent float64 // of the Zipf distribution of the keys; 0: all alike
	pinned   bool    // all takes of a trial come to one node; else each comes to any
	period   float64 // s; the takes come in the first tenth of each; 0: at any time
	moves    float64 // s; in the second half of each period of this length all takes come to one node; 0: never
}

// onePart is the part of a period in which bursts come: one in so many.
const onePart = 10

// shapes are what the algorithms are compared on. With leases, the uniform one is the hardest: no node can know what the others
// are about to ask for. The periods of the bursts and of the traffic that moves are no divisors of the windows, so that they meet all
// parts of them.
var shapes = []shape{
	{name: "uniform", keys: 1},
	{name: "pinned", keys: 1, pinned: true},
	{name: "zipf", keys: 100, exponent: 1.1},
	{name: "bursts", keys: 1, period: 0.7},
	{name: "moving", keys: 1, moves: 2.7},
}

// comesTo reports whether a take at the instant s, in seconds, comes to the one node of its trial.
func (h shape) comesTo(s float64) bool {
	return h.pinned || h.moves > 0 && 2*math.Mod(s, h.moves) >= h.moves
}

// at returns when a take comes that would come at the instant s if there were no bursts. Both are in seconds.
func (h shape) at(s float64) float64 {
	if h.period == 0 {
		return s
	}
	on := h.period / onePart
	s /= onePart // the time in which there are bursts
	whole := math.Floor(s / on)
	return whole*h.period + s - whole*on
}
