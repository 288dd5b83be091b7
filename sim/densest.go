package sim

import "math/bits"

// A densest finds the least limit L of a token bucket that refills at L per window and holds L:
// requests from the ith to the jth, which cost S and take the time d, all pass if S <= L + L*d/window.
// So L is the largest S*window/(window+d) of all i < j, rounded up.
//
// That is the steepest line from a point (arrival of i - window, cost before i) to the point (arrival
// of j, cost up to j). The points from which a later line can be steeper than the steepest so far are
// on the lower convex hull of all points, from the last edge on that is not steeper than it. They are
// few: requests since the bucket was full last.
type densest struct {
	hull  []point // starts of lines, convex from below
	total int64
	least int64
}

type point struct{ x, y int64 }

// slope is the steepness of a line: rise over run, run > 0.
type slope struct{ rise, run int64 }

func (p point) slopeTo(q point) slope { return slope{q.y - p.y, q.x - p.x} }

// steeper reports whether s is steeper than t.
func (s slope) steeper(t slope) bool {
	hi, lo := bits.Mul64(uint64(s.rise), uint64(t.run))
	thi, tlo := bits.Mul64(uint64(t.rise), uint64(s.run))
	return hi > thi || hi == thi && lo > tlo
}

func (d *densest) add(at, cost, window int64) {
	d.least = max(d.least, 1)
	before := d.total
	d.total += cost
	end := point{at, d.total}

	// Lines from earlier requests. The best start is where the hull stops being less steep than the line.
	for len(d.hull) > 1 && !d.hull[0].slopeTo(d.hull[1]).steeper(slope{d.least, window}) {
		d.hull = d.hull[1:]
	}
	if len(d.hull) > 0 {
		i := 0
		for i+1 < len(d.hull) && !d.hull[i].slopeTo(d.hull[i+1]).steeper(d.hull[i].slopeTo(end)) {
			i++
		}
		if line := d.hull[i].slopeTo(end); line.steeper(slope{d.least, window}) {
			d.least = line.timesUp(window)
		}
	}

	// The point of this request becomes a start.
	start := point{at - window, before}
	if n := len(d.hull); n > 0 && d.hull[n-1].x == start.x {
		return // the start of an earlier request of the same instant is lower
	}
	for n := len(d.hull); n > 1 && !d.hull[n-2].slopeTo(start).steeper(d.hull[n-2].slopeTo(d.hull[n-1])); n-- {
		d.hull = d.hull[:n-1]
	}
	d.hull = append(d.hull, start)
}

// timesUp returns s times n, rounded up.
func (s slope) timesUp(n int64) int64 {
	hi, lo := bits.Mul64(uint64(s.rise), uint64(n))
	q, rest := bits.Div64(hi, lo, uint64(s.run))
	if rest > 0 {
		q++
	}
	return int64(q)
}
