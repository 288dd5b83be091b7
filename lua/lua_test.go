package lua

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// TestScriptsCompile has Redis compile scripts for one rule and for MaxRules rules, of each
// algorithm and of all.
func TestScriptsCompile(t *testing.T) {
	redis := redistest.Shared(t).Client()
	var lists [][]limiter.Kind
	mixed := make([]limiter.Kind, MaxRules)
	for kind := range algorithms {
		most := make([]limiter.Kind, MaxRules)
		for i := range most {
			most[i] = kind
		}
		mixed[kind], mixed[MaxRules-1-int(kind)] = kind, kind
		lists = append(lists, most[:1], most)
	}
	lists = append(lists, mixed)

	left := regexp.MustCompile(`\bN\b|_N\b|--|<\w+>|\bFIELD\b|\bVALUE\b|\bLOG\b`)
	clean := map[string]bool{} // by line, as most lines are in many scripts
	for _, kinds := range lists {
		for name, text := range map[string]string{
			"take": Take(kinds), "refund": Refund(kinds), "charge": Charge(kinds), "lend": Lend(kinds), "reset": Reset(kinds), "add quota": AddQuota(kinds),
		} {
			for line := range strings.Lines(text) {
				if clean[line] {
					continue
				}
				match := left.FindString(line)
				if clean[line] = match == ""; match != "" {
					t.Errorf("the script for %s of %v has %q", name, kinds, match)
				}
			}
			if err := redis.ScriptLoad(t.Context(), text).Err(); err != nil {
				t.Errorf("the script for %s of %v: %v", name, kinds, err)
			}
		}
	}
	if err := redis.ScriptLoad(t.Context(), Announce()).Err(); err != nil {
		t.Error(err)
	}
}

// TestMuldiv checks quotients and remainders, also of products that do not fit into a double.
func TestMuldiv(t *testing.T) {
	redis := redistest.Shared(t).Client()
	for _, test := range []struct{ a, b, c, quotient, rest int64 }{
		{0, 0, 1, 0, 0},
		{7, 3, 10, 2, 1},
		{1 << 40, 1<<49 - 1, 1 << 49, 1<<40 - 1, 1<<49 - 1<<40},
		{999_999_999_989, 281_474_976_710_597, 562_949_953_421_231, 499_999_999_994, 262_974_976_710_819},
		{1 << 26, 1 << 26, 1<<26 + 1, 1<<26 - 1, 1},
		{1 << 27, 1 << 26, 1<<26 + 1, 1<<27 - 2, 2},
	} {
		got, err := redis.Eval(t.Context(), read("muldiv.lua")+"local q, r = muldiv(tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]))\n"+
			"return string.format('%.0f %.0f', q, r)", nil, test.a, test.b, test.c).Text()
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint(test.quotient, " ", test.rest); got != want {
			t.Errorf("muldiv(%d, %d, %d) = %s, want %s", test.a, test.b, test.c, got, want)
		}
	}
}

// TestMuldivOfRandomNumbers compares muldiv with arithmetic of 128 bits, for products around 2^53,
// beyond which a double is not exact, and up to the largest product.
func TestMuldivOfRandomNumbers(t *testing.T) {
	rng, redis := rand.New(rand.NewPCG(1, 3)), redistest.Shared(t).Client()
	var args []any
	var want strings.Builder
	for i := range 3000 {
		c := 2 + rng.Uint64N(1<<(2+rng.IntN(48)))
		b := 1 + rng.Uint64N(c)
		a := rng.Uint64N(1 << 51)
		if i%2 == 0 {
			a = min(1<<52-1, (1<<53+rng.Uint64N(1<<55))/b)
		}
		high, low := bits.Mul64(a, b)
		quotient, rest := bits.Div64(high, low, c)
		fmt.Fprintln(&want, quotient, rest)
		args = append(args, a, b, c)
	}
	got, err := redis.Eval(t.Context(), read("muldiv.lua")+`local all = {}
		for i = 1, #ARGV, 3 do
			all[#all + 1] = string.format('%.0f %.0f\n', muldiv(tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])))
		end
		return table.concat(all)`, nil, args...).Text()
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Split(want.String(), "\n")
	for i, line := range strings.Split(got, "\n") {
		if line != wanted[i] {
			t.Fatalf("muldiv(%d, %d, %d) = %s, want %s", args[3*i], args[3*i+1], args[3*i+2], line, wanted[i])
		}
	}
}
