package evaluate

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// takeComparisons decides the comparisons, each by itself, after the rules in force have decided.
// It counts how both have decided. What the store could not decide is no comparison.
func (e *Evaluation) takeComparisons() {
	now := time.Now()
	for i := range e.comparisons {
		c := &e.comparisons[i]
		admitted, decided := e.decisionOf(c.result.Usage)
		if !decided {
			continue
		}
		e.decideShadows(e.comparisons[i:i+1], now)
		if c.result.Failure == nil {
			c.result.Usage.Comparisons.Add(admitted, c.result.Decision.OK)
		}
	}
}

// decisionOf returns whether the rule in force of a zone admits the request, also one in a dry run.
// It is not decided in an outage, and if another zone or too many requests at once reject the
// request, which then counts in none.
func (e *Evaluation) decisionOf(z *usage.Zone) (admitted, decided bool) {
	of := func(r *response.Result) (admitted, decided bool) { return r.Decision.OK, r.Failure == nil }
	if e.denied != nil && e.denied.IsConcurrent() {
		return false, false
	}
	admitted, decided = true, true // unless the zone limits the request
	results := e.results()
	for i := range results {
		switch r := &results[i]; {
		case r.Usage == z:
			admitted, decided = of(r)
		case !r.Decision.OK:
			return false, false
		}
	}
	for i := range e.dryRuns {
		if r := &e.dryRuns[i].result; r.Usage == z {
			return of(r)
		}
	}
	return admitted, decided
}
