package limiter

import (
	"math"
	"math/bits"
)

// mulDiv returns a*b/c, rounded down, or math.MaxInt64 when that does not fit. The product has 128
// bits. a, b >= 0, c > 0.
func mulDiv(a, b, c int64) int64 {
	q, _ := mulAddDiv(a, b, 0, c)
	return q
}

// mulDivUp is mulDiv, rounded up.
func mulDivUp(a, b, c int64) int64 {
	q, rem := mulAddDiv(a, b, 0, c)
	if rem > 0 && q < math.MaxInt64 {
		q++
	}
	return q
}

// mulAddDiv returns the quotient and the remainder of (a*b + d) / c, or math.MaxInt64 and 0 when
// the quotient does not fit. The dividend has 128 bits. a, b, d >= 0, c > 0.
func mulAddDiv(a, b, d, c int64) (quo, rem int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(d), 0)
	hi += carry
	if hi >= uint64(c) {
		return math.MaxInt64, 0
	}
	var q, r uint64
	if hi == 0 { // common, and a faster division
		q, r = lo/uint64(c), lo%uint64(c)
	} else {
		q, r = bits.Div64(hi, lo, uint64(c))
	}
	if q > math.MaxInt64 {
		return math.MaxInt64, 0
	}
	return int64(q), int64(r)
}
