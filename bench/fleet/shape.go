package main

import "math"

// A shape is how the takes of a trial are spread over keys, nodes and time.
type shape struct {
	name     string
	keys     int
	exponent float64 // of the Zipf distribution of the keys; 0: all equal
	pinned   bool    // all takes of a trial arrive at one node; else at any
	period   float64 // s; takes arrive in the first tenth of each period; 0: at any time
	moves    float64 // s; in the second half of each such period all takes arrive at one node; 0: never
}

// burstFraction is the part of a period in which takes arrive.
const burstFraction = 0.1

// shapes are what the algorithms are compared on. With leases, uniform is the hardest: no node can
// know what the others are about to need. The periods of bursts and of moving traffic divide no
// window, so they meet all parts of the windows.
var shapes = []shape{
	{name: "uniform", keys: 1},
	{name: "pinned", keys: 1, pinned: true},
	{name: "zipf", keys: 100, exponent: 1.1},
	{name: "bursts", keys: 1, period: 0.7},
	{name: "moving", keys: 1, moves: 2.7},
}

// atOneNode reports whether a take at the instant s, in seconds, arrives at the one node of its
// trial.
func (h shape) atOneNode(s float64) bool {
	return h.pinned || h.moves > 0 && 2*math.Mod(s, h.moves) >= h.moves
}

// arrival returns when a take arrives that would arrive at the instant s without bursts, both in
// seconds.
func (h shape) arrival(s float64) float64 {
	if h.period == 0 {
		return s
	}
	on := h.period * burstFraction
	s *= burstFraction // the time with bursts
	whole := math.Floor(s / on)
	return whole*h.period + s - whole*on
}
