// Package report prints measurements as tables in Markdown.
//
// Variants take turns in short rounds. Other work of the machine affects all variants of a round alike,
// so variants are compared within a round. A report has the median of all rounds.
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

// End prints err and exits with status 1. It does nothing if err is nil.
func End(command string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, command+":", err)
		os.Exit(1)
	}
}

// Turns calls do for each variant in each round. Each round begins with another variant.
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

// Met returns the word for whether a goal was met.
func Met(ok bool) string {
	if ok {
		return "met"
	}
	return "missed"
}

// Milliseconds formats a duration in ms.
func Milliseconds(d time.Duration) string { return fmt.Sprintf("%.3f ms", d.Seconds()*1e3) }

// A Series has one figure per round.
type Series []float64

// Over returns s divided by base, round by round.
func (s Series) Over(base Series) Series { return floats.DivTo(make(Series, len(s)), s, base) }

// Minus returns s minus base, round by round.
func (s Series) Minus(base Series) Series { return floats.SubTo(make(Series, len(s)), s, base) }

// Median returns the median of the figures.
func (s Series) Median() float64 { return Quantile(0.5, slices.Sorted(slices.Values(s))) }

// Spread formats the median, the lowest and the highest figure. format is the format of each, such as
// "%.3f". unit follows the median.
func (s Series) Spread(format, unit string) string {
	return fmt.Sprintf(format+unit+" ("+format+" to "+format+")", s.Median(), floats.Min(s), floats.Max(s))
}

// Quantile returns the lowest value of sorted such that at least a fraction q of the values are not
// higher. It returns 0 if sorted is empty.
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
