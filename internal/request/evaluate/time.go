package evaluate

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// timedEvery is of how many decisions one is timed, unless it has waited for another process: to
// read the clock takes about as long as the decision.
const timedEvery = 64

// timeDecision reports how long a decision took, which began at an instant.
func (e *Evaluation) timeDecision(began time.Time) {
	if len(e.takes) == 0 {
		return
	}
	source := e.takes[0].Decision.Source
	for i := range e.takes[1:] {
		if s := e.takes[i+1].Decision.Source; slowness[s] > slowness[source] {
			source = s
		}
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

// noteAsked notes how long the decision took in the zones for which Redis was asked.
func (e *Evaluation) noteAsked(took time.Duration) {
	takes := e.takes
	var noted *usage.Zone
	for i := range e.results() {
		r := &e.results()[i]
		if r.IsConcurrent() || r.Policy.Block {
			continue
		}
		if s := takes[0].Decision.Source; (s == limiter.FromStore || s == limiter.FromLate) && r.Usage != noted {
			noted = r.Usage // with several takes, of a path with several readings
			noted.Asked.Add(took)
		}
		takes = takes[1:]
	}
}

// slowness orders sources by how long they take.
var slowness = [limiter.Sources]int{
	limiter.FromLease: 0, limiter.FromRememberedDenial: 1, limiter.FromStore: 2, limiter.FromOutage: 3, limiter.FromLate: 4,
}
