package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// An arrival is a take that is due at some instant of a run.
type arrival struct {
	due   time.Duration // after the start of the run
	trial int32         // index of the trial in the run
	key   int32         // index of the key in the trial
	node  int32
}

// arrivals returns the takes of a trial, in the order in which they are due. They arrive
// independently of each other. number is the index of the trial. A trial has equal takes in each
// run.
func (t *trial) arrivals(number, nodes int, length time.Duration) []arrival {
	rng := rand.New(rand.NewPCG(1, uint64(number)))
	keys, others := newZipf(t.shape.exponent, t.shape.keys), newZipf(t.shape.spread, nodes)
	home := rng.IntN(nodes)
	all := make([]arrival, 0, int(1.1*t.rate*length.Seconds()))
	for at := 0.0; ; {
		at += rng.ExpFloat64() / t.rate
		due := time.Duration(t.shape.arrival(at) * float64(time.Second))
		if due >= length {
			return all
		}
		a := arrival{due: due, trial: int32(number), key: int32(keys.draw(rng.Float64())), node: int32(home)}
		if !t.shape.atOneNode(due.Seconds()) {
			a.node = int32(others.draw(rng.Float64()))
		}
		all = append(all, a)
	}
}

// merge returns the arrivals of all slices in the order in which they are due.
func merge(of ...[]arrival) []arrival {
	all := slices.Concat(of...)
	slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.due, b.due) })
	return all
}

// A zipf draws keys, or nodes. Key k has a weight of 1/(k+1)^exponent. If the exponent is 0, all
// keys have equal weights.
type zipf []float64 // by key: the share of this key and all keys before it

func newZipf(exponent float64, n int) zipf {
	z := make(zipf, n)
	sum := 0.0
	for k := range z {
		sum += math.Pow(float64(k+1), -exponent)
		z[k] = sum
	}
	for k := range z {
		z[k] /= sum
	}
	return z
}

// draw returns the key for u, which is in [0, 1).
func (z zipf) draw(u float64) int {
	k, _ := slices.BinarySearch(z, math.Nextafter(u, 1))
	return min(k, len(z)-1)
}

// first returns the share of key 0, the most frequent one.
func (z zipf) first() float64 { return z[0] }
