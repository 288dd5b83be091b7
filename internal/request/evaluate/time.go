package evaluate

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// One of timedEvery decisions is timed, because reading the clock takes about as long as a decision.
// Decisions that have waited for Redis are all timed.
const timedEvery = 64

// timeDecision reports how long a decision of the store took that began at the instant began.
func (e *Evaluation) timeDecision(began time.Time) {
	asked, source := false, limiter.FromLease
	for i := range e.checks {
		if c := &e.checks[i]; c.asksStore() {
			if s := c.take.Decision.Source; !asked || slowness[s] > slowness[source] {
				asked, source = true, s
			}
		}
	}
	if !asked {
		return
	}
	e.decisions++
	if waited := e.handler.App.InRedis && slowness[source] >= slowness[limiter.FromStore]; waited || e.decisions%timedEvery == 0 {
		took := time.Since(began)
		e.handler.Reports.Took(source, took)
		if waited {
			e.noteAsked(took)
		}
	}
}

// noteAsked notes how long the decision took, in each zone for which Redis was asked.
func (e *Evaluation) noteAsked(took time.Duration) {
	var noted *zone.Zone
	for i := range e.checks {
		c := &e.checks[i]
		if s := c.take.Decision.Source; c.asksStore() && (s == limiter.FromStore || s == limiter.FromLate) && c.zone != noted {
			noted = c.zone // a zone has several takes if the path has several readings
			noted.Usage.Asked.Add(took)
		}
	}
}

// slowness orders sources by how long they take.
var slowness = [limiter.Sources]int{
	limiter.FromLease: 0, limiter.FromRememberedDenial: 1, limiter.FromStore: 2, limiter.FromOutage: 3, limiter.FromLate: 4,
}
