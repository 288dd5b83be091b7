package lua

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestFractions keeps and reads fractions of events with periods of up to 2^44 µs, and compares the
// results with arithmetic of 128 bits.
func TestFractions(t *testing.T) {
	rng, redis := rand.New(rand.NewPCG(2, 44)), redistest.Shared(t).Client()
	const unit = 1 << 44
	var args []any
	var want []string
	for i := range uint64(3000) {
		q := 1 + rng.Uint64N(1<<(1+rng.IntN(44)))
		if i%5 == 0 {
			q = []uint64{1, 3, 60_000_000, 3_600_000_000, unit - 1, unit}[i%6]
		}
		numerator := []uint64{rng.Uint64N(q), q - 1, min(1, q-1)}[i%3]
		high, low := bits.Mul64(numerator, unit)
		kept, _ := bits.Div64(high, low, q)
		fraction := []uint64{rng.Uint64N(unit), kept, max(1, kept) - 1, unit - 1, 0}[i%5]
		high, low = bits.Mul64(fraction+1, q)
		read, rest := bits.Div64(high, low, unit)
		if rest == 0 {
			read--
		}
		args = append(args, numerator, fraction, q)
		want = append(want, fmt.Sprintf("%d %d %d", kept, read, numerator))
	}
	got, err := redis.Eval(t.Context(), read("muldiv.lua")+"local MOST = 0\n"+algorithms[limiter.TokenBucket].expand("<functions>")+`
		local all = {}
		for i = 1, #ARGV, 3 do
			local n, fraction, q = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
			all[#all + 1] = string.format('%.0f %.0f %.0f', keptOf(n, q), numeratorOf(fraction, q), numeratorOf(keptOf(n, q), q))
		end
		return table.concat(all, '\n')`, nil, args...).Text()
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(got, "\n") {
		if line != want[i] {
			t.Fatalf("%d/%d is kept, %d is read, and what is kept is read as %s, want %s", args[3*i], args[3*i+2], args[3*i+1], line, want[i])
		}
	}
}
