package evaluate

import (
	"bytes"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A request may pass several handlers, each of which takes from its own zones. If a later handler rejects the
// request, it must not count in the zones of the earlier handlers, just as it does not count in the other
// zones of the later one. So each handler remembers what it has taken while the handlers behind it run.

// isLate reports whether the request has been answered before it came to the handler: the handler is in an
// error route, or in a route that handles a response. An upstream may have worked for such a request.
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

// refundEarlier refunds what earlier handlers have taken for a request that this one does not admit,
// unless the request has been answered in between.
func (e *Evaluation) refundEarlier() {
	if e.state == nil {
		return
	}
	late := e.isLate()
	for o := e.state.running; o != nil && o.isLate() == late; o = o.outer {
		for _, checks := range [][]check{o.checks, o.dryRuns, o.comparisons} {
			for i := range checks {
				if c := &checks[i]; c.settlement != nil {
					c.settlement.cancel()
				} else if c.asksStore() && o.refund(c) {
					e.showRefund(&c.take)
				}
			}
		}
		e.state.charges = e.state.charges[:o.firstCharge]
		e.state.releasePermits(o.firstPermit)
		e.state.releaseAdaptive(o.firstAdaptive)
	}
}

// refund gives back what the take of a check has consumed, and reports whether it has consumed anything. If
// the take was promised a turn, the store gives back as much of it as it still can.
func (e *Evaluation) refund(c *check) bool {
	if !c.take.Decision.OK {
		return false
	}
	k := c.take
	k.Key = bytes.Clone(k.Key) // the buffer of the key is used again
	if k.Decision.Turn != 0 {
		k.Origin = nil // the store has decided the take itself, without a lease
	} else {
		origin := c.origin
		k.Origin = &origin
	}
	e.handler.Store.Refund(k, func() {})
	return true
}

// showRefund has the response show what remains of a limit after a refund.
func (e *Evaluation) showRefund(k *limiter.Take) {
	for i := range e.state.Results[:e.first] {
		if r := &e.state.Results[i]; r.Policy.Rule == k.Rule && r.Decision.OK && r.Decision.Remaining >= 0 {
			r.Decision.Remaining = min(r.Decision.Limit, r.Decision.Remaining+k.Cost)
		}
	}
}
