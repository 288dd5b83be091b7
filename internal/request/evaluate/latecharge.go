package evaluate

import (
	"bytes"
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
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A reservedCharge is a take that has reserved events until the response has ended. Then the
// request is charged what that says: the rest is given back, or more is charged.
type reservedCharge struct {
	index  int // of the take in Evaluation.takes, until it is held
	take   limiter.Take
	origin limiter.Origin
	late   *zone.LateCharge
	zone   report.Zone
	counts *usage.Charges // nil: the charge is that of a comparison, which is not counted

	store   takeStore
	state   *response.State
	repl    *caddy.Replacer
	reports *report.Requests

	atStart string // what the placeholder was when the response started
	answer  *answer

	refunded bool // a later handler rejects the request
}

// newReservedCharge returns the charge of a zone, whose take is to be held.
func newReservedCharge(found *zone.Reading, c *zone.Charge) *reservedCharge {
	return &reservedCharge{late: c.Late, zone: reported(found.Zone), counts: &found.Zone.Usage.Charges}
}

// addReservedCharge makes the newest take one whose charge follows.
func (e *Evaluation) addReservedCharge(found *zone.Reading, c *zone.Charge) {
	r := newReservedCharge(found, c)
	r.index = len(e.takes) - 1
	e.takes[r.index].Origin = &r.origin
	e.late = append(e.late, r)
}

// hold holds the events of a take that was admitted, until the response has ended.
func (r *reservedCharge) hold(e *Evaluation, take *limiter.Take) {
	if !take.Decision.OK {
		return // the store could not decide it
	}
	r.take, r.store = *take, e.handler.Store
	r.take.Key = bytes.Clone(take.Key) // the request's buffer is used again
	r.state, r.repl, r.reports = &e.state.State, e.Repl, e.handler.Reports
	if r.counts != nil {
		r.counts.Open.Add(1)
		r.counts.ReservedEvents.Add(uint64(r.take.Cost))
	}
	forgetUpstream(e.Repl)
	r.answer = e.state.awaitAnswer()
	e.state.OnStatus(func(int) { r.atStart = r.value(r.state.Header()) }) // other handlers may remove it
	e.state.AtEnd(r.settle)
	if r.late.Usage {
		e.plain = true
	}
}

// value returns what the placeholder is now, "" if it is unknown. A trailer counts before a header.
func (r *reservedCharge) value(h http.Header) string {
	if name := r.late.Header; name != "" {
		for _, name := range []string{http.TrailerPrefix + name, name} {
			if values := h[http.CanonicalHeaderKey(name)]; len(values) > 0 {
				return values[len(values)-1]
			}
		}
		return ""
	}
	if r.late.Usage {
		return ""
	}
	value, _ := r.repl.GetString(r.late.Placeholder)
	return value
}

// settle charges the request. status is the one that the client gets.
func (r *reservedCharge) settle(status int) {
	n, how := r.cost(status)
	reserved := r.take.Cost
	if r.counts != nil {
		how.counter(r.counts).Add(1)
		r.counts.Open.Add(-1)
		r.counts.ChargedEvents.Add(uint64(n))
		r.counts.RefundedEvents.Add(uint64(max(0, reserved-n)))
		if how != costRefunded {
			r.late.Past.Add(r.take.Key, n)
		}
	}
	rest := r.take
	switch {
	case n < reserved:
		rest.Cost = reserved - n
		r.store.Refund(rest, func() {})
	case n > reserved:
		rest.Cost = n - reserved
		r.store.Charge(rest)
	}
}

// A costing is how it is known what a request has cost.
type costing int

const (
	costKnown    costing = iota // the response says so
	costCapped                  // and that is more than a response may be charged
	costUnknown                 // it does not
	costRefunded                // it has not gone upstream, or has a status that refunds
)

// counter returns what counts such requests.
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

// cost returns what the request is charged.
func (r *reservedCharge) cost(status int) (n int64, how costing) {
	if r.refunded {
		return 0, costRefunded
	}
	sent, answer := upstreamStatus(r.repl)
	byUpstream := sent && (status == 0 || r.answer.copied || answer == http.StatusSwitchingProtocols)
	if status == 0 {
		answer = 0 // it may be that of another upstream, and who knows what this one does
	}
	if r.refunds(answer) || !byUpstream && r.refunds(status) {
		return 0, costRefunded
	}
	n, known := r.knownCost()
	switch most := r.late.Most(r.take.Rule); {
	case known && n > most:
		if r.counts != nil && r.counts.LogsCapped(time.Now()) {
			r.reports.ChargeCapped(r.zone, n, most)
		}
		return most, costCapped
	case known:
		return n, costKnown
	case !byUpstream && !r.streams(status), isSignIn(answer):
		return 0, costRefunded
	default:
		return max(r.take.Cost, min(most, max(n, r.answer.events(), r.answer.content()/bytesOfToken))), costUnknown
	}
}

// refunds reports whether a status gives the reservation back. 0 is none.
func (r *reservedCharge) refunds(status int) bool { return status != 0 && r.late.Refunds.Has(status) }

// bytesOfToken are how many bytes of text a model writes for a token at least, on the average.
const bytesOfToken = 3

// knownCost returns what the response says that the request has cost, as far as it says so. known
// is false if it does not say so for the whole response.
func (r *reservedCharge) knownCost() (n int64, known bool) {
	if r.late.Usage {
		return r.answer.tokens()
	}
	value := r.value(r.state.Header())
	if value == "" {
		value = r.atStart
	}
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if n == maxInt64 {
		err = nil // it is larger
	}
	return max(0, n), err == nil && n >= 0
}

// streams reports whether a handler that is no proxy has sent a body.
func (r *reservedCharge) streams(status int) bool {
	return status == http.StatusOK && r.answer.events() > 0
}
