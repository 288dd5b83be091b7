package docs

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	sum  = regexp.MustCompile(`([\d,.]+(?: µs| bytes)?(?: [×+/] [\d,.]+(?: µs| bytes)?)+) = ([\d,.]+(?: MB)?)`)
	unit = map[string]float64{"": 1, "bytes": 1, "MB": 1e6, "µs": 1e-6}
)

// TestSumsOfSizing computes the sums of docs/operate/sizing.md. The page rounds them, and rounds numbers of
// primaries up.
func TestSumsOfSizing(t *testing.T) {
	sums := sum.FindAllStringSubmatch(strings.Join(strings.Fields(read(t, "docs/operate/sizing.md")), " "), -1)
	for _, s := range sums {
		total := 0.0
		for part := range strings.SplitSeq(s[1], " + ") {
			product := 1.0
			for factor := range strings.SplitSeq(part, " × ") {
				dividend, divisor, divides := strings.Cut(factor, " / ")
				product *= quantity(t, dividend)
				if divides {
					product /= quantity(t, divisor)
				}
			}
			total += product
		}
		if want := quantity(t, s[2]); math.Abs(total-want) > 0.06*want {
			t.Errorf("%s = %g, and the page has %s", s[1], total, s[2])
		}
	}
	if len(sums) < 7 {
		t.Errorf("%d sums were found, want more", len(sums))
	}
}

// quantity returns the value of a number with a unit.
func quantity(t *testing.T, text string) float64 {
	t.Helper()
	number, of, _ := strings.Cut(text, " ")
	value, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	if err != nil || unit[of] == 0 {
		t.Fatalf("%q is no quantity", text)
	}
	return value * unit[of]
}
