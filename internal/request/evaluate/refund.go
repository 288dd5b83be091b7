package evaluate

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A request may pass several handlers, each of which takes from its own zones. What a later one
// rejects must not count in the zones of those before it, as it does not in other zones of its own.
// So each handler remembers what it has taken while the handlers behind it run.

// noteOrigins has the store note where the events of the takes are from, for a refund.
func (e *Evaluation) noteOrigins() {
	e.origins = slices.Grow(e.origins[:0], len(e.takes))[:len(e.takes)]
	for i := range e.takes {
		if k := &e.takes[i]; k.Origin == nil {
			k.Origin = &e.origins[i]
		}
	}
}

// isLate reports whether the request has been answered before it came to the handler: in an error
// route, or in a route that handles a response. What answered it may have worked for it.
func (e *Evaluation) isLate() bool {
	return e.handler.HandlesResponses || e.HTTP.Context().Value(caddyhttp.ErrorCtxKey) != nil
}

// serveNext calls next. Meanwhile, the handlers behind this one may refund what it has taken.
func (e *Evaluation) serveNext(w http.ResponseWriter, next caddyhttp.Handler) error {
	if e.state == nil {
		return next.ServeHTTP(w, e.HTTP)
	}
	e.outer, e.state.running = e.state.running, e
	defer func() { e.state.running = e.outer }()
	if len(e.results()) == 0 && !e.state.IsAwaited() {
		return next.ServeHTTP(w, e.HTTP)
	}
	return e.state.Serve(w, e.HTTP, e.first, next)
}

// RefundEarlier refunds what earlier handlers have taken for a request that this one does not admit,
// unless the request has been answered in between.
func (e *Evaluation) RefundEarlier() {
	if e.state == nil {
		return
	}
	late := e.isLate()
	for o := e.state.running; o != nil && o.isLate() == late; o = o.outer {
		for _, r := range o.reserved {
			r.refunded = true
		}
		for _, r := range o.late {
			r.refunded = true
		}
		for i := range o.taken {
			if k := &o.taken[i]; !o.isHeld(i) && o.refund(k) {
				e.showRefund(k)
			}
		}
		o.refundShadows(o.dryRuns)
		o.refundShadows(o.comparisons)
		e.state.charges = e.state.charges[:o.firstCharge]
		e.state.releasePermits(o.firstPermit)
		e.state.releaseAdaptive(o.firstAdaptive)
	}
}

// isHeld reports whether the end of the response decides what becomes of a take.
func (e *Evaluation) isHeld(index int) bool {
	return e.isReserved(index) || slices.ContainsFunc(e.late, func(r *reservedCharge) bool { return r.index == index })
}

// refund gives back what a take has consumed, and reports whether that is anything. Of a promised turn,
// the store gives back what it still can.
func (e *Evaluation) refund(take *limiter.Take) bool {
	if !take.Decision.OK {
		return false
	}
	k := *take
	k.Key = bytes.Clone(k.Key) // the request's buffers are used again
	if k.Decision.Turn != 0 {
		k.Origin = nil // the store itself has decided it
	} else {
		origin := *k.Origin
		k.Origin = &origin
	}
	e.handler.Store.Refund(k, func() {})
	return true
}

// refundShadows refunds what dry runs or comparisons have taken.
func (e *Evaluation) refundShadows(shadows []shadow) {
	for i := range shadows {
		switch s := &shadows[i]; {
		case s.reserved != nil:
			s.reserved.refunded = true
		case s.late != nil:
			s.late.refunded = true
		case s.take.Rule != nil:
			e.refund(&s.take)
		}
	}
}

// showRefund has the response show what remains of a limit after a refund.
func (e *Evaluation) showRefund(k *limiter.Take) {
	for i := range e.state.Results[:e.first] {
		if r := &e.state.Results[i]; r.Policy.Rule == k.Rule && r.Decision.OK && r.Decision.Remaining >= 0 {
			r.Decision.Remaining = min(r.Decision.Limit, r.Decision.Remaining+k.Cost)
		}
	}
}
