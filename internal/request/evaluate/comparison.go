package evaluate

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// addComparison adds the check of the limit that the zone compares with the one in force.
func (e *Evaluation) addComparison(found *zone.Reading) {
	c := e.add(&e.comparisons, found, &found.Compared)
	if s, is := c.settlement.(*costSettlement); is {
		s.counts = nil
	}
}

// takeComparisons decides the comparisons, each by itself, after the rules in force have decided. It counts
// how both have decided, unless the store could not decide one of them.
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

// decisionOf returns whether the limits in force of a zone, or those in its dry run, admit the request.
// decided is false in an outage. It is also false if another zone or too many requests at once reject the
// request, which then counts in no zone.
func (e *Evaluation) decisionOf(z *zone.Zone) (admitted, decided bool) {
	if e.denied != nil && e.denied.IsConcurrent() {
		return false, false
	}
	admitted, decided = true, true // this holds if no check is of the zone
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
