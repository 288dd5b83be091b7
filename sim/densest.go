package sim

import "math/bits"

// A densest finds the least limit L of a token bucket that refills at L per window and holds L:
// requests from the ith to the jth, which cost S and take the time d, all pass if S <= L + L*d/window.
// So L is the largest S*window/(window+d) of all i < j, rounded up.
//
// So L/window is the slope of the steepest line from a point (arrival of i - window, cost before i) to
// a point (arrival of j, cost up to j). Only starts on the lower convex hull of all starts can have a
// line that is steeper than the steepest one so far, and only those behind the last edge that is not
// steeper than that line. These are few: about the requests since the bucket was full last.
type densest struct {
	hull  []point // the starts of lines, on a hull that is convex from below
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

	// Lines from earlier requests. The steepest one starts where the hull begins to be steeper than the
	// line.
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
		return // an earlier request at this instant has a lower start
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
