package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A table prints rows for a page in Markdown.
type table struct{ io.Writer }

// newTable begins a section with a title, what to know about it, and a table with these columns.
func newTable(title, text string, columns ...string) *table {
	t := &table{os.Stdout}
	fmt.Fprintf(t, "\n### %s\n\n%s\n\n", title, text)
	t.row(columns...)
	t.row(strings.Split(strings.TrimSuffix(strings.Repeat("--- ", len(columns)), " "), " ")...)
	return t
}

func (t *table) row(cells ...string) { fmt.Fprintf(t, "| %s |\n", strings.Join(cells, " | ")) }

// How figures are written.

func percent(fraction float64, digits int) string {
	return fmt.Sprintf("%.*f %%", digits, 100*fraction)
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
}

// seconds writes a whole number of them, as windows and durations of runs are.
func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

func count[T int | int64](n T) string { return fmt.Sprint(n) }

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "missed"
}

// noteTrouble says below a table what makes its figures doubtful: a machine that could not keep up with the load, and takes that
// the store has not answered in time, which count neither as admitted nor as rejected.
func (t *table) noteTrouble(reports ...*report) {
	var (
		late   time.Duration
		failed int
		takes  int
	)
	for _, r := range reports {
		late = max(late, r.late)
		for _, o := range r.outcomes {
			failed += o.failed
			takes += o.takes
		}
	}
	fmt.Fprintf(t, "\n99 %% of the takes were made within %s of when they were due", milliseconds(late))
	if late > tolerable {
		fmt.Fprintf(t, ": **the machine did not keep up**")
	}
	fmt.Fprintf(t, ". %d of %d takes were not answered in time, and left out of the comparison.\n", failed, takes)
}

// tolerable is how late a take may be made: more, and the load was another one than was asked for.
const tolerable = 20 * time.Millisecond
