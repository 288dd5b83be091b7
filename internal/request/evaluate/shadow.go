package evaluate

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A shadow is a take that rejects no request: that of a dry run, or of a rule that is compared with
// the one in force.
type shadow struct {
	result   response.Result
	take     limiter.Take // unless the rule blocks or is unlimited
	reserved *reserved    // nil: the request counts, whatever its status is

	late   *reservedCharge // nil: what it takes is what it costs
	origin limiter.Origin  // of the take, unless reserved or late has it
}

func (e *Evaluation) newShadow(found *zone.Reading, c *zone.Charge) shadow {
	s := shadow{take: limiter.Take{Rule: c.Policy.Rule, Key: found.Key, Cost: c.Cost, Client: (*client)(e.HTTP)}}
	found.Describe(c, &s.result)
	switch {
	case c.Late != nil:
		s.late = newReservedCharge(found, c)
		s.take.Origin = &s.late.origin
	case c.Counts != nil:
		s.reserved = &reserved{counts: c.Counts}
		s.take.Origin = &s.reserved.origin
	}
	return s
}

// addDryRun adds a take of a zone that rejects no request. Shadows are large: the functions that add
// them are by themselves, so that other requests need no room for them on their stacks.
func (e *Evaluation) addDryRun(found *zone.Reading, c *zone.Charge) {
	s := e.newShadow(found, c)
	s.take.Wait = e.waitOf(c)
	e.dryRuns = append(e.dryRuns, s)
}

// addComparison adds a take of the rule that is compared with the one in force.
func (e *Evaluation) addComparison(found *zone.Reading) {
	compared := e.newShadow(found, &found.Compared)
	if compared.late != nil {
		compared.late.counts = nil
	}
	e.comparisons = append(e.comparisons, compared)
}

// decideShadows decides the shadows of one zone as one, and returns the result that describes them.
// There are several if the request is at several endpoints. What they take is held until the status
// of the response is known. If the request is rejected, nobody knows how it would have ended, and it
// counts.
func (e *Evaluation) decideShadows(shadows []shadow, now time.Time) *response.Result {
	clear(e.takes) // results have their decisions
	e.takes = e.takes[:0]
	e.blocked = slices.ContainsFunc(shadows, func(s shadow) bool { return s.result.Policy.Block })
	firstPermit := len(e.state.permits)
	for i := range shadows {
		switch r := &shadows[i].result; {
		case r.Policy.Rule != nil:
			if shadows[i].take.Origin == nil {
				shadows[i].take.Origin = &shadows[i].origin
			}
			e.takes = append(e.takes, shadows[i].take)
		case r.IsConcurrent():
			_, _ = e.acquirePermit(r, concurrentKey{key: shadows[i].take.Key}, now) // the result has the error
			e.blocked = e.blocked || !r.Decision.OK
		}
	}
	_ = e.takeFromStore(now) // takes have the errors
	takes, at := e.takes, limiter.At(now)
	var decisive *response.Result
	for i := range shadows {
		r := &shadows[i].result
		switch {
		case r.IsConcurrent():
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
	switch {
	case !decisive.Decision.OK:
		e.state.releasePermits(firstPermit)
	case !e.previews && e.denied == nil:
		for i := range shadows {
			switch s := &shadows[i]; {
			case s.take.Rule == nil:
			case s.late != nil:
				s.late.hold(e, &s.take)
			case s.reserved != nil:
				s.reserved.hold(e, &s.take)
			}
		}
	}
	return decisive
}
