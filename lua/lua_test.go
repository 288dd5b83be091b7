package lua

import (
	"fmt"
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
	clean := map[string]bool{} // lines, of which most are in many scripts
	for _, kinds := range lists {
		for name, text := range map[string]string{
			"take": Take(kinds), "refund": Refund(kinds), "lend": Lend(kinds), "reset": Reset(kinds), "add quota": AddQuota(kinds),
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

// TestMuldiv includes products that do not fit into a double.
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
