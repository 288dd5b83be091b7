// Package report prints measurements as tables in Markdown.
//
// Variants take turns in short rounds. Everything else that the machine does affects all variants
// of a round alike, so they are compared within a round. The report has the median of the rounds.
package report

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Head prints the machine and the command of a run.
func Head(command string) {
	fmt.Printf("%s/%s, %d processors; %s.\n\n    %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(),
		strings.Join(append([]string{command}, os.Args[1:]...), " "))
}

// End ends a command that has failed, with what went wrong.
func End(command string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, command+":", err)
		os.Exit(1)
	}
}

// Turns has all variants do their part of each round. None always follows the same other.
func Turns[V fmt.Stringer](rounds int, variants []V, do func(V) error) error {
	for round := range rounds {
		for turn := range variants {
			v := variants[(round+turn)%len(variants)]
			if err := do(v); err != nil {
				return fmt.Errorf("%v: %w", v, err)
			}
		}
	}
	return nil
}

// Columns prints the head of a table.
func Columns(names ...any) {
	Row(names...)
	fmt.Println("|" + strings.Repeat(" --- |", len(names)))
}

// Row prints a line of a table.
func Row(cells ...any) {
	for _, c := range cells {
		fmt.Printf("| %v ", c)
	}
	fmt.Println("|")
}

// Met formats whether a goal was met.
func Met(ok bool) string {
	if ok {
		return "met"
	}
	return "missed"
}

// Milliseconds formats a duration.
func Milliseconds(d time.Duration) string { return fmt.Sprintf("%.3f ms", d.Seconds()*1e3) }

// A Series has one figure per round.
type Series []float64

// Over returns s divided by base, round by round.
func (s Series) Over(base Series) Series { return floats.DivTo(make(Series, len(s)), s, base) }

// Minus returns s minus base, round by round.
func (s Series) Minus(base Series) Series { return floats.SubTo(make(Series, len(s)), s, base) }

// Median returns the median of the rounds.
func (s Series) Median() float64 { return Quantile(0.5, slices.Sorted(slices.Values(s))) }

// Spread formats the median, the least and the greatest of the rounds, each in a format such as
// "%.3f", with the unit after the median.
func (s Series) Spread(format, unit string) string {
	return fmt.Sprintf(format+unit+" ("+format+" to "+format+")", s.Median(), floats.Min(s), floats.Max(s))
}

// Quantile returns the least of the sorted values that at least a fraction q does not exceed, or 0
// when there are none.
func Quantile[T ~float64 | ~int64](q float64, sorted []T) T {
	if len(sorted) == 0 {
		return 0
	}
	values := make([]float64, len(sorted))
	for i, v := range sorted {
		values[i] = float64(v)
	}
	return T(stat.Quantile(q, stat.Empirical, values, nil))
}
