package evaluate

import (
	"time"

	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/internal/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A shadow is a take that rejects no request: that of a dry run, or of a rule that is compared with
// the one in force.
type shadow struct {
	result   response.Result
	take     limiter.Take // unless the rule blocks or is unlimited
	reserved *reserved    // nil: the request counts, whatever its status is
}

func newShadow(found *zone.Reading, c *zone.Charge) shadow {
	s := shadow{result: found.Result(c), take: limiter.Take{Rule: c.Policy.Rule, Key: found.Key, Cost: c.Cost}}
	if c.Counts != nil {
		s.reserved = &reserved{counts: c.Counts}
		s.take.Origin = &s.reserved.origin
	}
	return s
}

// decideShadows decides the shadows of one zone as one, and returns the result that describes them.
// There are several if the request is at several endpoints. What they take is held until the status
// of the response is known.
func (e *Evaluation) decideShadows(shadows []shadow, now time.Time) *response.Result {
	clear(e.takes) // results have their decisions
	e.takes = e.takes[:0]
	e.blocked = false
	for i := range shadows {
		switch p := shadows[i].result.Policy; {
		case p.Block:
			e.blocked = true
		case p.Rule != nil:
			e.takes = append(e.takes, shadows[i].take)
		}
	}
	_ = e.takeFromStore(now) // takes have the errors
	takes, at := e.takes, limiter.At(now)
	var decisive *response.Result
	for i := range shadows {
		r := &shadows[i].result
		switch {
		case r.IsConcurrent():
			_ = e.acquirePermit(r, shadows[i].take.Key, now) // the result has the error
		case r.Policy.Block:
			r.Block(at)
		case r.Policy.Unlimited():
			r.Decision = limiter.Decision{OK: true, At: at}
		default:
			r.Decide(&takes[0], at)
			shadows[i].take.Decision, shadows[i].take.Err = takes[0].Decision, takes[0].Err
			takes = takes[1:]
		}
		if decisive == nil || r.Decides(decisive) {
			decisive = r
		}
	}
	if decisive.Decision.OK {
		for i := range shadows {
			if s := &shadows[i]; s.reserved != nil && s.take.Rule != nil {
				s.reserved.hold(e, &s.take)
			}
		}
	}
	return decisive
}
