package limiter

import "math/bits"

// A bucket calculates with the fraction of an event that has accrued as a numerator over Rule.per. It
// keeps the fraction as a number of 1/2^44 of an event, rounded down, so that it means the same under
// any rate. It reads such a number as the largest numerator that is kept as this number or a smaller
// one. So for periods of up to 2^44 µs:
//
//   - Under the same rate, nothing is rounded. Two numerators differ by 2^44/per or more, which is at
//     least 1, so they are kept as different numbers.
//   - Under another rate, n/per is kept as x <= n/per * 2^44, and read as an m with m/per' <
//     (x+1)/2^44. So a change of the rate gives less than 1/2^44 of an event. No rate gives as little
//     in a µs, and that is the unit of instants: no event is admitted a µs too early. If per*per' is at
//     most 2^44, fractions that differ do so by 1/2^44 at least, so the change gives nothing at all.
//   - A change loses less than 1/per' and 1/2^44 of an event: what accrues in a µs or two.
//
// Redis has 44 bits for the number, and refuses longer periods: see lua/token_bucket.lua. In memory,
// 18 more are below them, which count for longer periods alone. So both read the same otherwise.
const fractionBits, finerBits = 44, 18

// kept returns numerator/r.per of an event as it is kept.
func (r *Rule) kept(numerator int64) int64 {
	if numerator == 0 {
		return 0
	}
	return mulDiv(numerator, 1<<(fractionBits+finerBits), r.per)
}

// numerator returns the largest numerator over r.per that is kept as fraction or less: the largest n
// with n << size < (fraction+1) * per.
func (r *Rule) numerator(fraction int64) int64 {
	size := fractionBits + finerBits
	if r.per <= 1<<fractionBits {
		fraction, size = fraction>>finerBits, fractionBits
	}
	high, low := bits.Mul64(uint64(fraction), uint64(r.per))
	low, carry := bits.Add64(low, uint64(r.per-1), 0)
	return int64((high+carry)<<(64-size) | low>>size)
}
