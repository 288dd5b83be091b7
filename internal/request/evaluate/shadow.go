package evaluate

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// decideShadows decides checks of one zone that reject no request, and returns the one that describes
// them. There are several if the request is at several endpoints. What they take is held until the
// status of the response is known. If the request is rejected, nobody knows how it would have ended,
// and it counts.
func (e *Evaluation) decideShadows(checks []check, now time.Time) (decisive *check) {
	blocked := slices.ContainsFunc(checks, func(c check) bool { return c.result.Policy.Block })
	firstPermit := len(e.state.permits)
	for i := range checks {
		if c := &checks[i]; c.result.IsConcurrent() {
			_, _ = e.acquirePermit(c, e.asking(blocked), now) // the result has the error
			blocked = blocked || !c.result.Decision.OK
		}
	}
	_ = e.ask(checks, e.asking(blocked), now) // takes have the errors
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
		for i := range checks {
			if c := &checks[i]; c.settlement != nil {
				c.settlement.hold(e, c)
			}
		}
	}
	return decisive
}
