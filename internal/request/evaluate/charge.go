package evaluate

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// A costSettlement charges a request what its response has cost. The take has reserved events. When the
// response has ended, the settlement gives back the events that are left, or charges those that are missing.
type costSettlement struct {
	keptTake
	late   *zone.LateCharge
	zone   report.ZoneName
	counts *usage.Charges // nil if the charge is that of a comparison, which is not counted

	state   *response.State
	repl    *caddy.Replacer
	reports *report.Requests

	atStart string // what value returned when the response started
	answer  *answer
}

func (s *costSettlement) hold(e *Evaluation, c *check) {
	if !s.keep(e, c) {
		return
	}
	s.state, s.repl, s.reports = &e.state.State, e.Repl, e.handler.Reports
	if s.counts != nil {
		s.counts.Open.Add(1)
		s.counts.ReservedEvents.Add(uint64(s.take.Cost))
	}
	forgetUpstream(e.Repl)
	s.answer = e.state.awaitAnswer()
	e.state.OnStatus(func(int) { s.atStart = s.value(s.state.Header()) }) // other handlers may remove the header
	e.state.AtEnd(s.settle)
	if s.late.Usage {
		e.plain = true
	}
}

// value returns the current text of the placeholder or header that states the cost, "" if there is none. A
// trailer takes precedence over a header.
func (s *costSettlement) value(h http.Header) string {
	if name := s.late.Header; name != "" {
		for _, name := range []string{http.TrailerPrefix + name, name} {
			if values := h[http.CanonicalHeaderKey(name)]; len(values) > 0 {
				return values[len(values)-1]
			}
		}
		return ""
	}
	if s.late.Usage {
		return ""
	}
	value, _ := s.repl.GetString(s.late.Placeholder)
	return value
}

// settle charges the request. status is the one that the client gets.
func (s *costSettlement) settle(status int) {
	n, how := s.cost(status)
	reserved := s.take.Cost
	if s.counts != nil {
		how.counter(s.counts).Add(1)
		s.counts.Open.Add(-1)
		s.counts.ChargedEvents.Add(uint64(n))
		s.counts.RefundedEvents.Add(uint64(max(0, reserved-n)))
		if how != costRefunded {
			s.late.Past.Add(s.take.Key, n)
		}
	}
	rest := s.take
	switch {
	case n < reserved:
		rest.Cost = reserved - n
		s.store.Refund(rest, func() {})
	case n > reserved:
		rest.Cost = n - reserved
		s.store.Charge(rest)
	}
}

// A costing is how settle came to the charge of a request.
type costing int

const (
	costKnown    costing = iota // the response states its cost
	costCapped                  // the response states a cost above what a response may be charged
	costUnknown                 // the response does not state its cost for the whole response
	costRefunded                // the request is charged nothing: it has not gone upstream, or its response refunds it
)

// counter returns the counter of requests that were charged in this way.
func (how costing) counter(c *usage.Charges) *atomic.Uint64 {
	switch how {
	case costKnown:
		return &c.Known
	case costCapped:
		return &c.Capped
	case costUnknown:
		return &c.Unknown
	}
	return &c.Refunded
}

// cost returns how many events the request is charged, and why. status is 0 if the client has got no
// response.
func (s *costSettlement) cost(status int) (n int64, how costing) {
	if s.cancelled {
		return 0, costRefunded
	}
	sent, answer := upstreamStatus(s.repl)
	byUpstream := sent && (status == 0 || s.answer.copied || answer == http.StatusSwitchingProtocols)
	if status == 0 {
		answer = 0 // it may be the answer of another upstream, and the last one may still work
	}
	if s.refunds(answer) || !byUpstream && s.refunds(status) {
		return 0, costRefunded
	}
	n, known := s.knownCost()
	switch most := s.late.Most(s.take.Rule); {
	case known && n > most:
		if s.counts != nil && s.counts.LogsCapped(time.Now()) {
			s.reports.ChargeCapped(s.zone, n, most)
		}
		return most, costCapped
	case known:
		return n, costKnown
	case !byUpstream && !s.streams(status), isSignIn(answer):
		return 0, costRefunded
	default:
		return max(s.take.Cost, min(most, max(n, s.answer.events(), s.answer.content()/bytesOfToken))), costUnknown
	}
}

// refunds reports whether a status gives the reservation back. Status 0, which stands for no response, does
// not.
func (s *costSettlement) refunds(status int) bool { return status != 0 && s.late.Refunds.Has(status) }

// bytesOfToken is the least number of bytes of text that a model writes for a token, on average.
const bytesOfToken = 3

// knownCost returns the cost that the response states. known is false if the response states none, or only
// the cost of a part of it, which is n then.
func (s *costSettlement) knownCost() (n int64, known bool) {
	if s.late.Usage {
		return s.answer.tokens()
	}
	value := s.value(s.state.Header())
	if value == "" {
		value = s.atStart
	}
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if n == maxInt64 {
		err = nil // the text is that number or a larger one
	}
	return max(0, n), err == nil && n >= 0
}

// streams reports whether the response has status 200 and has streamed events. If no upstream was asked, a
// handler that is no proxy has streamed them.
func (s *costSettlement) streams(status int) bool {
	return status == http.StatusOK && s.answer.events() > 0
}
