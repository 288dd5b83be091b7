package limiter

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestMulAddDiv compares mulAddDiv with arithmetic of arbitrary precision, for operands of every
// magnitude.
func TestMulAddDiv(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	operand := func() int64 { return rng.Int64() >> rng.IntN(63) }
	for range 100_000 {
		a, b, d, c := operand(), operand(), operand(), max(1, operand())
		dividend := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		dividend.Add(dividend, big.NewInt(d))
		wantQuo, wantRem := new(big.Int).QuoRem(dividend, big.NewInt(c), new(big.Int))
		if !wantQuo.IsInt64() {
			wantQuo.SetInt64(math.MaxInt64)
			wantRem.SetInt64(0)
		}
		if quo, rem := mulAddDiv(a, b, d, c); quo != wantQuo.Int64() || rem != wantRem.Int64() {
			t.Fatalf("(%d * %d + %d) / %d = %d remainder %d, want %d remainder %d", a, b, d, c, quo, rem, wantQuo, wantRem)
		}
	}
}

func TestMulDivUp(t *testing.T) {
	for _, test := range []struct{ a, b, c, down, up int64 }{
		{0, 5, 3, 0, 0},
		{2, 3, 6, 1, 1},
		{7, 1, 2, 3, 4},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64, 3, 2, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64, 2, 4, math.MaxInt64 / 2, math.MaxInt64/2 + 1},
	} {
		if down, up := mulDiv(test.a, test.b, test.c), mulDivUp(test.a, test.b, test.c); down != test.down || up != test.up {
			t.Errorf("%d * %d / %d = %d, rounded up %d, want %d, %d", test.a, test.b, test.c, down, up, test.down, test.up)
		}
	}
}
