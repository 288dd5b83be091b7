package evaluate

import (
	"net/http"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/pace"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// The reasons to end a request that holds a place, or is about to take one.
var (
	slowBody = &response.Refusal{
		Status: http.StatusRequestTimeout, Reason: "slow_body", Message: "The request's body came too slowly",
	}
	slowReader = &response.Refusal{
		Status: http.StatusRequestTimeout, Reason: "slow_reader", Message: "The response was read too slowly",
	}
)

// holdsPlaces reports whether the request needs places among the requests at once of this handler's zones.
func (e *Evaluation) holdsPlaces() bool {
	return !e.previews && (e.limitsConcurrent || len(e.capacity) > 0)
}

// awaitBody waits for the body before the request takes a place, because the upstream can do nothing without
// it. It refuses a request whose body comes too slowly.
func (e *Evaluation) awaitBody(w http.ResponseWriter) error {
	if e.blocked || e.isDenied() {
		return nil
	}
	p := e.paceOf(w)
	waited := p.Await()
	if p.BodyStalled() {
		e.refuseSlowBody()
		return nil
	}
	if waited >= time.Millisecond {
		e.awaited = true
		e.Renew()
		return clientGoneError(e.HTTP.Context())
	}
	return nil
}

// paceOf returns the pace of the client, which all handlers of the request share.
func (e *Evaluation) paceOf(w http.ResponseWriter) *pace.Pace {
	s := e.state
	if s.pace == nil {
		s.pace = pace.New(w, e.HTTP)
		s.pace.Body()
	}
	return s.pace
}

// isDenied reports whether a limit denies the request now, as far as this node knows, and the request would
// not wait for its turn.
func (e *Evaluation) isDenied() bool {
	now, waits := e.Time(), e.mayWait || e.countsByStatus
	for i := range e.checks {
		if c := &e.checks[i]; c.result.IsConcurrent() && c.wait.most == 0 {
			if d := e.handler.Store.PeekPermit(now, c.result.Policy.Concurrent, c.take.Key); !d.OK {
				return true
			}
		}
	}
	if waits || e.ask(e.checks, peeking, now) != nil {
		return false
	}
	return slices.ContainsFunc(e.checks, func(c check) bool { return c.asksStore() && !c.take.Decision.OK })
}

// refuseSlowBody refuses the request in the name of the first zone that limits requests at once.
func (e *Evaluation) refuseSlowBody() {
	if len(e.capacity) > 0 {
		c := &e.capacity[0]
		e.refused = refused{slowBody, &c.zone.ZoneResponses, c.text}
	} else {
		i := slices.IndexFunc(e.checks, func(c check) bool { return c.result.IsConcurrent() })
		e.refused = refused{slowBody, e.checks[i].result.ZoneResponses, e.checks[i].result.Template}
	}
	e.refused.zone.Usage.StalledRequests.Add(1)
}

// atPaceOfClient returns a writer that fails if the client reads the response too slowly, and a handler that
// calls next and returns 408 if the body came too slowly. If an earlier handler of the request has them, it
// returns w and next.
func (e *Evaluation) atPaceOfClient(w http.ResponseWriter, next caddyhttp.Handler) (http.ResponseWriter, caddyhttp.Handler) {
	s := e.state
	if s.paced {
		return w, next
	}
	s.paced = true
	p := e.paceOf(w)
	p.Idle = s.idle // the request has its places from now on
	writer := p.Writer(w)
	s.AtEnd(func(int) { e.noteStall(p) })
	return writer, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		err := next.ServeHTTP(w, r)
		if err != nil && p.BodyStalled() && !writer.Started() {
			return caddyhttp.Error(slowBody.Status, slowBody)
		}
		return err
	})
}

// noteStall counts, publishes and logs that a request was ended because of its slow client. The request still
// holds its places.
func (e *Evaluation) noteStall(p *pace.Pace) {
	why := slowReader
	switch {
	case p.BodyStalled():
		why = slowBody
	case !p.ReaderStalled():
		return
	}
	for _, z := range e.state.placed() {
		if why == slowBody {
			z.StalledRequests.Add(1)
		} else {
			z.StalledResponses.Add(1)
		}
		e.publish(report.Decision{Outcome: api.Denied, Zone: z, Reason: why.Reason, Status: why.Status})
	}
	e.handler.Reports.Refused(e.subject(), nil, nil, why)
}

// placed returns the zones in which the request holds places.
func (s *requestState) placed() (zones []*usage.ZoneCounters) {
	s.held.Lock()
	defer s.held.Unlock()
	for i := range s.permits {
		if z := s.permits[i].zone; z != nil {
			zones = append(zones, z)
		}
	}
	for i := range s.adaptive {
		zones = append(zones, s.adaptive[i].zone)
	}
	return zones
}
