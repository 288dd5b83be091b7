package limiter

import "math/bits"

// A bucket calculates with the fraction of an event that has accrued as a numerator over Rule.per.
// It keeps the fraction in units of 2^-44 of an event, rounded down, so that it means the same
// under any rate. It reads x units as m, the largest numerator that is kept as x units or less:
// m/per < (x+1) * 2^-44. So for periods of up to 2^44 µs:
//
//   - Under the same rate, nothing is rounded. Two numerators are at least a unit apart, so they
//     are kept as different numbers. So the largest numerator that is kept as x or less is the one
//     that was kept.
//   - Under another rate, n/per is kept as x units and read as m/per'. That is above n/per by less
//     than a unit, as x units are at most n/per. A unit is at most what the slowest rate gives in a
//     µs, so the next event comes less than a µs early. Instants are not known better than that. If
//     per * per' is at most 2^44, such fractions are equal or at least a unit apart, so nothing is
//     gained.
//   - The change loses less than 1/per', as (m+1)/per' is at least x+1 units, which is above n/per.
//
// Redis has 44 bits for the number of units, and refuses longer periods: see lua/token_bucket.lua.
// In memory, 18 finer bits are below the 44. They count for longer periods only, so that all stores
// decide alike.
const fractionBits, finerBits = 44, 18

// kept returns numerator/r.per of an event as it is kept: in units of 2^-62 of an event, rounded
// down.
func (r *Rule) kept(numerator int64) int64 {
	if numerator == 0 {
		return 0
	}
	return mulDiv(numerator, 1<<(fractionBits+finerBits), r.per)
}

// numerator returns the largest numerator over r.per that is kept as fraction or less: the largest
// n with n << size < (fraction+1) * per.
func (r *Rule) numerator(fraction int64) int64 {
	size := fractionBits + finerBits
	if r.per <= 1<<fractionBits {
		fraction, size = fraction>>finerBits, fractionBits
	}
	high, low := bits.Mul64(uint64(fraction), uint64(r.per))
	low, carry := bits.Add64(low, uint64(r.per-1), 0)
	return int64((high+carry)<<(64-size) | low>>size)
}
