package main

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// section prints a title, what to know about the figures, and the head of their table.
func section(title, text string, columns ...any) {
	fmt.Printf("\n### %s\n\n%s\n\n", title, text)
	report.Columns(columns...)
}

func percent(fraction float64, digits int) string {
	return fmt.Sprintf("%.*f %%", digits, 100*fraction)
}

// seconds writes a whole number of them, as windows and durations of runs are.
func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// tolerable is how late a take may be made. Beyond it, the load was not the one that was meant.
const tolerable = 20 * time.Millisecond

// noteTrouble prints what makes figures doubtful: that the machine did not keep up with the load,
// and takes that were not answered in time, which count neither as admitted nor as rejected.
func noteTrouble(results ...*result) {
	var (
		late          time.Duration
		failed, takes int
	)
	for _, r := range results {
		late = max(late, r.late)
		for _, o := range r.outcomes {
			failed += o.failed
			takes += o.takes
		}
	}
	fmt.Printf("\n99 %% of the takes were made within %s of when they were due", report.Milliseconds(late))
	if late > tolerable {
		fmt.Print(": **the machine did not keep up**")
	}
	fmt.Printf(". %d of %d takes were not answered in time, and left out of the comparison.\n", failed, takes)
}
