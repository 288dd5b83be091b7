package evaluate

import (
	"net/http"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/adaptive"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// overloaded refuses a request for which the upstream has no room. After the wait, the limit may have grown.
var overloaded = &response.Refusal{
	Status: http.StatusServiceUnavailable, Reason: "overloaded", Message: "The service is overloaded", Wait: time.Second,
}

// A capacityCheck limits the requests at once of all keys of a zone together, by the capacity of the
// upstream. It is not a check, because it has no count in the store and refuses the request before anything
// is taken.
type capacityCheck struct {
	zone   *zone.Zone
	key    []byte
	text   *keytemplate.Template // of the key
	dryRun bool
	counts *usage.Counters // of the requests that it admits; nil if a limit of the zone counts them
}

// A heldAdaptive is the permit of a request in flight. A request that passes a zone several times, in several
// handlers, holds one permit.
type heldAdaptive struct {
	limiter *adaptive.Limiter
	permit  *adaptive.Permit
	zone    *usage.ZoneCounters
}

// addAdaptive adds a permit that the request holds.
func (s *requestState) addAdaptive(h heldAdaptive) {
	s.held.Lock()
	defer s.held.Unlock()
	s.adaptive = append(s.adaptive, h)
}

// idle notes that the request begins, or ceases, to wait for its client.
func (s *requestState) idle(idle bool) {
	s.held.Lock()
	defer s.held.Unlock()
	for _, h := range s.adaptive {
		h.permit.Idle(idle)
	}
}

// addCapacity adds the capacityCheck of a zone.
func (e *Evaluation) addCapacity(found *zone.Reading) {
	c := capacityCheck{zone: found.Zone, key: found.Key, text: found.Template, dryRun: found.DryRun}
	if client := e.clientOf(found.Template, found.Key); client != nil {
		c.key = client
	}
	if len(found.Charges)+len(found.Concurrent) == 0 {
		c.counts = found.Zone.Usage.Counters("", "")
	}
	e.capacity = append(e.capacity, c)
}

// isOverloaded acquires the permits of all zones, and reports whether a zone has none left. Then the request
// is refused, before anything else is taken for it.
func (e *Evaluation) isOverloaded() bool {
	for i := range e.capacity {
		c := &e.capacity[i]
		if e.state.holdsAdaptive(c.zone.Adaptive) {
			c.counts = nil // an earlier handler counts the request
			continue
		}
		permit, ok := c.zone.Adaptive.Acquire(c.key, !c.dryRun)
		if permit == nil {
			e.refused = refused{overloaded, &c.zone.ZoneResponses, c.text}
			e.releaseAdaptive()
			return true
		}
		e.state.addAdaptive(heldAdaptive{c.zone.Adaptive, permit, c.zone.Usage})
		if !ok {
			c.counts = nil
			e.passOverloaded(c)
		}
	}
	return false
}

// passOverloaded reports that a dry run admits a request that would have been refused.
func (e *Evaluation) passOverloaded(c *capacityCheck) {
	z := c.zone
	z.Usage.WouldDeny.Add(1)
	e.publish(report.Decision{
		Outcome: api.WouldDeny, Zone: z.Usage, Key: c.text, Reason: overloaded.Reason, WouldBe: overloaded.Status,
	})
	e.handler.Reports.DryRunRefused(e.subject(), &z.ZoneResponses, c.text, overloaded.Reason, overloaded.Status)
}

// holdsAdaptive reports whether the request holds a permit of a limiter.
func (s *requestState) holdsAdaptive(l *adaptive.Limiter) bool {
	for i := range s.adaptive {
		if s.adaptive[i].limiter == l {
			return true
		}
	}
	return false
}

// releaseAdaptive releases the permits that this handler has acquired.
func (e *Evaluation) releaseAdaptive() { e.state.releaseAdaptive(e.firstAdaptive) }

// releaseAdaptive releases the permits of the request from the index first on.
func (s *requestState) releaseAdaptive(first int) {
	if len(s.adaptive) <= first {
		return // an earlier end of the response has released them
	}
	s.held.Lock()
	defer s.held.Unlock()
	for _, h := range s.adaptive[first:] {
		h.permit.Release()
	}
	clear(s.adaptive[first:])
	s.adaptive = s.adaptive[:first]
}

// measureLatency has the latency of the request measured, and its permits released when the response has
// ended. It counts the request in the zones that have no other limit to count it.
func (e *Evaluation) measureLatency() {
	for i := range e.capacity {
		if c := e.capacity[i].counts; c != nil {
			c.Admitted[limiter.FromStore].Add(1)
		}
	}
	s, r := e.state, e.HTTP
	for _, h := range s.adaptive[e.firstAdaptive:] {
		p := h.permit
		if r.Body != nil && r.ContentLength != 0 {
			r.Body = p.Body(r.Body)
		} else {
			p.Begin(time.Now())
		}
		e.onStatus(func(status int) {
			// A client that has gone has got no response. A response that fails may have come faster than one
			// that succeeds.
			p.Started(time.Now(), status > 0 && status < 500, status > 0)
			if s.IsStream(status) {
				p.Release()
			}
		})
	}
	if len(s.adaptive) > e.firstAdaptive {
		s.AtEnd(func(int) { s.releaseAdaptive(0) })
	}
}
