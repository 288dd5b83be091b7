package evaluate

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// decideShadows decides checks of one zone that reject no request, and returns the check that describes what
// the zone decides. A zone has several such checks if the request is at several endpoints, or if the zone has
// a limit of requests at once. If the request is admitted, its events are settled by the response. If it is
// rejected, nobody knows how the response would have ended, and the events stay taken.
func (e *Evaluation) decideShadows(checks []check, now time.Time) (decisive *check) {
	blocked := slices.ContainsFunc(checks, func(c check) bool { return c.result.Policy.Block })
	firstPermit := len(e.state.permits)
	for i := range checks {
		if c := &checks[i]; c.result.IsConcurrent() {
			_, _ = e.acquirePermit(c, e.asking(blocked), now) // the error is in the result
			blocked = blocked || !c.result.Decision.OK
		}
	}
	_ = e.ask(checks, e.asking(blocked), now) // the errors are in the takes
	adoptDecisions(checks, limiter.At(now))
	for i := range checks {
		if c := &checks[i]; decisive == nil || c.result.Decides(&decisive.result) {
			decisive = c
		}
	}
	switch {
	case !decisive.result.Decision.OK:
		e.state.releasePermits(firstPermit)
	case !e.previews && e.denied == nil:
		e.holdTaken(checks)
	}
	return decisive
}
