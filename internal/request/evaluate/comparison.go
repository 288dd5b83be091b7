package evaluate

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// addComparison adds a check of the rule that is compared with the one in force.
func (e *Evaluation) addComparison(found *zone.Reading) {
	c := e.add(&e.comparisons, found, &found.Compared)
	if s, is := c.settlement.(*costSettlement); is {
		s.counts = nil
	}
}

// takeComparisons decides the comparisons, each by itself, after the rules in force have decided.
// It counts how both have decided. What the store could not decide is no comparison.
func (e *Evaluation) takeComparisons() {
	now := time.Now()
	for i := range e.comparisons {
		c := &e.comparisons[i]
		admitted, decided := e.decisionOf(c.zone)
		if !decided {
			continue
		}
		e.decideShadows(e.comparisons[i:i+1], now)
		if c.result.Failure == nil {
			c.zone.Usage.Comparisons.Add(admitted, c.result.Decision.OK)
		}
	}
}

// decisionOf returns whether the rule in force of a zone admits the request, also one in a dry run.
// It is not decided in an outage, and if another zone or too many requests at once reject the
// request, which then counts in none.
func (e *Evaluation) decisionOf(z *zone.Zone) (admitted, decided bool) {
	if e.denied != nil && e.denied.IsConcurrent() {
		return false, false
	}
	admitted, decided = true, true // unless the zone limits the request
	for _, c := range e.decisive {
		switch r := &c.result; {
		case c.zone == z:
			admitted, decided = r.Decision.OK, r.Failure == nil
		case !r.Decision.OK:
			return false, false
		}
	}
	for i := range e.dryRuns {
		if c := &e.dryRuns[i]; c.zone == z {
			return c.result.Decision.OK, c.result.Failure == nil
		}
	}
	return admitted, decided
}
