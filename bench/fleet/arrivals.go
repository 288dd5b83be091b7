package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// An arrival is a take that is due at some time of a run.
type arrival struct {
	due   time.Duration // after the start of the run
	trial int32         // its number in the run
	key   int32         // of its trial
	node  int32
}

// arrivals returns the takes of the trial with this number, in order. They arrive independently of
// each other, and are the same in each run.
func (t *trial) arrivals(number, nodes int, length time.Duration) []arrival {
	rng := rand.New(rand.NewPCG(1, uint64(number)))
	keys := newZipf(t.shape.exponent, t.shape.keys)
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
			a.node = int32(rng.IntN(nodes))
		}
		all = append(all, a)
	}
}

// merge returns all arrivals in order.
func merge(of ...[]arrival) []arrival {
	all := slices.Concat(of...)
	slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.due, b.due) })
	return all
}

// A zipf draws keys. Key k has a weight of 1/(k+1)^exponent, so an exponent of 0 makes all equal.
type zipf []float64 // the share of all keys up to each

func newZipf(exponent float64, keys int) zipf {
	z := make(zipf, keys)
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

// draw returns the key at u, which is in [0, 1).
func (z zipf) draw(u float64) int {
	k, _ := slices.BinarySearch(z, math.Nextafter(u, 1))
	return min(k, len(z)-1)
}

// first returns the share of the most frequent key.
func (z zipf) first() float64 { return z[0] }
