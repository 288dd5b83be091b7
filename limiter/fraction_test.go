package limiter

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"
)

// TestFractionUnderItsRate keeps numerators and reads them under the same rate: nothing is rounded.
func TestFractionUnderItsRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 44))
	for _, per := range periods() {
		r := &Rule{per: per}
		for i := range int64(2000) {
			n := []int64{i, per - 1 - i, rng.Int64N(per)}[i%3]
			if n < 0 || n >= per {
				continue
			}
			kept := r.kept(n)
			if got := r.numerator(kept); got != n {
				t.Fatalf("%d/%d is kept as %d and read as %d", n, per, kept, got)
			}
			if redis := kept >> finerBits << finerBits; per <= 1<<fractionBits && r.numerator(redis) != n {
				t.Fatalf("%d/%d is kept in Redis as %d and read as %d", n, per, redis, r.numerator(redis))
			}
		}
	}
}

// TestFractionUnderAnotherRate keeps numerators and reads them under another rate. The fraction
// grows by less than 2^-44 of an event, and not at all if the periods are short. It shrinks by less
// than 1/per of the other rate.
func TestFractionUnderAnotherRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 44))
	unit := big.NewRat(1, 1<<44)
	for _, per := range periods() {
		for _, other := range periods() {
			from, to := &Rule{per: per}, &Rule{per: other}
			for i := range int64(50) {
				n := []int64{i, per - 1 - i, rng.Int64N(per)}[i%3]
				if n < 0 || n >= per {
					continue
				}
				m := to.numerator(from.kept(n))
				gain := new(big.Rat).Sub(big.NewRat(m, other), big.NewRat(n, per))
				if m < 0 || m >= other || gain.Cmp(unit) >= 0 || gain.Sign() > 0 && per <= 1<<44/other {
					t.Fatalf("%d/%d is read as %d/%d, %v more", n, per, m, other, gain)
				}
				if big.NewRat(m+1, other).Cmp(big.NewRat(n, per)) <= 0 {
					t.Fatalf("%d/%d is read as %d/%d, want one more at least", n, per, m, other)
				}
			}
		}
	}
}

// periods returns periods of all sizes, in µs.
func periods() []int64 {
	all := []int64{1, 2, 3, 7, 999, 60_000, 600_000, 1_000_003, 60_000_000, 3_600_000_000, 1<<44 - 1, 1 << 44, 1<<44 + 1, MaxWindow.Microseconds()}
	rng := rand.New(rand.NewPCG(3, 44))
	for range 10 {
		all = append(all, 1+rng.Int64N(1<<(1+rng.IntN(44))))
	}
	return all
}

// TestFractionAcrossLimits takes as soon as it can from buckets that have accrued a fraction of an
// event under one limit, and then get another one. The fraction stays.
func TestFractionAcrossLimits(t *testing.T) {
	for _, test := range []struct {
		name       string
		from, to   Limit
		after      Instant // after how long the take under from finds the fraction
		want, full Instant // after how long, from that take, the next event has accrued, and the bucket is full
	}{
		// 0.9 of an event has accrued. As a numerator, 90,000 of 100,000 µs would be 0.09 of a second.
		{"slower", Limit{10, time.Second, 2}, Limit{1, time.Second, 2}, 190 * ms, 100 * ms, 1100 * ms},
		// As a numerator, 190,000 would be more than an event of 100,000 µs, and 90,000 nearly one.
		{"faster", Limit{1, time.Second, 2}, Limit{10, time.Second, 2}, 1090 * ms, 91 * ms, 191 * ms},
		{"faster, much accrued", Limit{1, time.Second, 2}, Limit{10, time.Second, 2}, 1900 * ms, 10 * ms, 110 * ms},
		// The rates differ by 0.1 %, the numerators by half.
		{"nearly as fast", Limit{1001, time.Second, 2}, Limit{1002, time.Second, 2}, 1498, 500, 1498},
		// A third of an event, in an event per µs: that rounds down.
		{"fastest", Limit{3, time.Second, 2}, Limit{1_000_000, time.Second, 2}, 444_445, 1, 2},
	} {
		from, to := mustRule(t, bucket, test.from), mustRule(t, bucket, test.to)
		c := NewCount(bucket)
		c.Take(from, 100*sec, 2)
		at := 100*sec + test.after
		if d := c.Take(from, at, 1); !d.OK || d.Remaining != 0 {
			t.Fatalf("%s: take after %d µs = %+v, want OK with 0 remaining", test.name, test.after, d)
		}
		if d := c.Peek(to, at, 1); d.OK || d.RetryAt != at+test.want || d.ResetAt != at+test.full {
			t.Errorf("%s: take under the new limit = %+v, want a denial until %d, full at %d", test.name, d, at+test.want, at+test.full)
		}
		if d := c.Take(to, at+test.want-1, 1); d.OK {
			t.Errorf("%s: take a µs before the next event = %+v, want a denial", test.name, d)
		}
		if d := c.Take(to, at+test.want, 1); !d.OK {
			t.Errorf("%s: take at the next event = %+v, want OK", test.name, d)
		}
	}
}
