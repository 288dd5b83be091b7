package main

import (
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/bench/report"
)

// section prints a title, a text about the figures, and the head of a table.
func section(title, text string, columns ...any) {
	fmt.Printf("\n### %s\n\n%s\n\n", title, text)
	report.Columns(columns...)
}

func percent(fraction float64, digits int) string {
	return fmt.Sprintf("%.*f %%", digits, 100*fraction)
}

// seconds formats a window or the duration of a run.
func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// tolerable is the longest delay of a take after the instant at which it was due. Beyond it, the load
// was not the intended one.
const tolerable = 20 * time.Millisecond

// noteTrouble prints whether the machine kept up with the load, and how many takes got no answer in
// time. Those takes count neither as admitted nor as rejected.
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
