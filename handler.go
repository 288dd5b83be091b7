package fleetlimit

import (
	"fmt"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if exempt, err := h.addresses.check(r); err != nil {
		return err
	} else if exempt {
		return next.ServeHTTP(w, r)
	}
	repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	q := evaluation{repl: repl}
	if err := h.collectTakes(&q, r); err != nil {
		q.rollback()
		return err
	}
	if len(q.results()) == 0 {
		return h.serveNext(&q, w, r, next)
	}
	if err := h.decide(&q, r); err != nil {
		q.rollback()
		return err
	}
	if q.denied == nil {
		return h.serveNext(&q, w, r, next)
	}
	err := h.reject(&q, w, r)
	q.release()
	return err
}

// A evaluation is what one handler asks about one request: the takes of all zones that apply, with their answers.
type evaluation struct {
	now     limiter.Instant // by the clock of this machine
	repl    *caddy.Replacer
	state   *requestState   // nil until a zone matches
	first   int             // of rec.results, those of this question begin here
	buffers *requestBuffers // nil until a zone matches, and after release
	denied  *zoneResult     // of the results that reject the request, the one with the longest wait
	noAuth  *zone           // reads authentication that is not there, or not there yet
}

// begin makes room for the first zone of so many.
func (q *evaluation) begin(r *http.Request, zones int) {
	if q.state == nil {
		q.state = requestStateOf(r, q.repl, zones)
		q.first = len(q.state.results)
		q.buffers = requestBuffersPool.Get().(*requestBuffers)
	}
}

// results returns one result for each zone that applies.
func (q *evaluation) results() []zoneResult {
	if q.state == nil {
		return nil
	}
	return q.state.results[q.first:]
}

// rollback takes back results that were not decided.
func (q *evaluation) rollback() {
	if q.state != nil {
		q.state.results = q.state.results[:q.first]
	}
	q.release()
}

// release gives back what only this handler needs of the request. A handler that panics leaves it to the garbage collector,
// as somebody may still be using it.
func (q *evaluation) release() {
	if q.buffers != nil {
		q.buffers.release()
		q.buffers = nil
	}
}

// collectTakes finds out which zones apply to the request, and what to take from them.
func (h *Handler) collectTakes(q *evaluation, r *http.Request) error {
	for _, z := range h.zones {
		if len(z.matchers) > 0 {
			if match, err := z.matchers.AnyMatchWithError(r); err != nil {
				return err
			} else if !match {
				continue
			}
		}
		q.begin(r, len(h.zones))
		if err := h.addTake(q, z, r); err != nil {
			return err
		}
	}
	return nil
}

// addTake adds the take of a zone that matches the request.
func (h *Handler) addTake(q *evaluation, z *zone, r *http.Request) error {
	key, template, err := h.keyOf(q, z, r)
	if err != nil || template == nil {
		return err
	}
	text := func() string { return template.Text(r, q.repl) }
	if !z.deny.Empty() && z.deny.Match(text()) {
		z.counters.denied.Add(1)
		return caddyhttp.Error(http.StatusForbidden, fmt.Errorf("the key is denied in zone %q", z.name))
	}
	if !z.allow.Empty() && z.allow.Match(text()) {
		z.counters.allowed.Add(1)
		return nil
	}
	if len(z.auth) > 0 && q.noAuth == nil {
		if user, _ := q.repl.GetString(z.auth[0]); user == "" {
			q.noAuth = z
		}
	}
	tier, has := z.tiers.find(text, r, q.repl)
	if err := z.checkAmbiguous("tier", has); err != nil {
		return err
	}
	p := z.rulesFor(r)
	rule := p.rules[tier]
	if rule == nil || rule.unlimited() {
		return nil
	}
	q.state.results = append(q.state.results, zoneResult{zone: z, rule: rule, headers: h.headers, template: template})
	if rule.block {
		return nil
	}
	cost, has := p.cost.of(rule, r, q.repl)
	if err := z.checkAmbiguous("cost", has); err != nil {
		return err
	}
	if has != keytemplate.Present {
		z.counters.invalidCosts.Add(1)
	}
	q.buffers.takes = append(q.buffers.takes, limiter.Take{Rule: rule.Rule, Key: key, Cost: cost})
	return nil
}

// keyOf returns whose count of the zone is used, and the template that says so: nil when the request is left out.
func (h *Handler) keyOf(q *evaluation, z *zone, r *http.Request) ([]byte, *keytemplate.Template, error) {
	room, takes := q.buffers.keys[:0], q.buffers.takes
	if n := len(takes); n > 0 { // behind the last key, if there is room
		last := takes[n-1].Key
		room = last[len(last):]
	}
	key, has, err := z.key.Append(room, r, q.repl)
	switch {
	case err != nil:
		return nil, nil, caddyhttp.Error(http.StatusTooEarly, err)
	case has == keytemplate.Present:
		return key, z.key, nil
	}
	if err := z.checkAmbiguous("key", has); err != nil {
		return nil, nil, err
	}
	substitute := z.missing.key
	if has == keytemplate.AmbiguousCookie {
		substitute = z.cookieKey
	} else if skip, err := h.keyMissing(z); skip || err != nil {
		return nil, nil, err
	}
	key, has, err = substitute.Append(room, r, q.repl)
	switch {
	case err != nil:
		return nil, nil, caddyhttp.Error(http.StatusTooEarly, err)
	case has != keytemplate.Present:
		return nil, nil, caddyhttp.Error(http.StatusBadRequest,
			fmt.Errorf("the request has neither the key of zone %q nor what on_missing_key counts instead", z.name))
	}
	return key, substitute, nil
}

// keyMissing notes a request without a key. skip says that the zone leaves it out; the error turns it away.
func (h *Handler) keyMissing(z *zone) (skip bool, err error) {
	z.counters.missingKeys.Add(1)
	switch z.missing.action {
	case missingDefault:
		if !z.warned.Swap(true) {
			h.logger.Warn("requests without a key are counted by the client's address: use on_missing_key to change that",
				zap.String("zone", z.name), zap.String("key", z.key.String()))
		}
	case missingSkip:
		return true, nil
	case missingDeny:
		z.counters.denied.Add(1)
		return false, caddyhttp.Error(http.StatusForbidden, fmt.Errorf("the request has no key for zone %q", z.name))
	}
	return false, nil
}

// rulesFor returns the policy of the first endpoint that matches the request, else that of the rest of the zone.
func (z *zone) rulesFor(r *http.Request) *endpointRules {
	last := len(z.endpoints) - 1
	if last == 0 {
		return &z.endpoints[0]
	}
	bare := bareRequest(r)
	for i := range z.endpoints[:last] {
		if p := &z.endpoints[i]; p.route.match(r, bare) {
			return p
		}
	}
	return &z.endpoints[last]
}

// decide has the store decide, and notes the answers. The error is that of a request which ended meanwhile.
func (h *Handler) decide(q *evaluation, r *http.Request) error {
	now := time.Now()
	q.now = limiter.At(now)
	blocked, asked := q.denyBlocked(), len(q.buffers.takes) > 0
	var err error
	if asked {
		err = h.takeFromStore(q, blocked, now, r)
	}
	if err != nil {
		if err := clientGoneError(r.Context()); err != nil {
			return err
		}
	}
	results := q.results()
	for i := range results {
		if res := &results[i]; !res.decision.OK && (q.denied == nil || res.wait() > q.denied.wait()) {
			q.denied = res
		}
	}
	if asked && (err == nil || q.denied == nil) { // a request that another zone denies was not admitted uncounted
		h.logTransition(err, now)
	}
	q.count()
	return nil
}

// takeFromStore asks the store. When a rule denies the request anyhow, nothing is consumed. The error is that of the takes which the
// store could not decide: their zones admit the request as far as they are concerned, and the others decide it.
func (h *Handler) takeFromStore(q *evaluation, blocked bool, now time.Time, r *http.Request) (err error) {
	takes, store := q.buffers.takes, h.app.store
	if blocked {
		err = store.Peek(r.Context(), store.instant(now), takes)
	} else {
		err = store.Take(r.Context(), store.instant(now), takes)
	}
	results := q.results()
	for i := range results {
		res := &results[i]
		if res.rule.block {
			continue
		}
		if takes[0].Err != nil {
			res.degrade(q.now)
		} else {
			res.decision = takes[0].Decision
			res.decision.Rebase(q.now) // Redis has a clock of its own, and so have the accounts of this node
		}
		takes = takes[1:]
	}
	return err
}

// count adds the answers to the tallies. Of a rejected request, only the zones that were in the way count it.
func (q *evaluation) count() {
	results := q.results()
	for i := range results {
		res := &results[i]
		switch tally := &res.zone.counters; {
		case q.denied != nil:
			if !res.decision.OK {
				tally.rejected[res.decision.Source].Add(1)
			}
		case res.degraded:
			tally.degraded.Add(1)
		default:
			tally.admitted[res.decision.Source].Add(1)
		}
	}
}

// denyBlocked answers for the rules that reject every request, and reports whether there are any.
func (q *evaluation) denyBlocked() (blocked bool) {
	results := q.results()
	for i := range results {
		if res := &results[i]; res.rule.block {
			until := q.now + limiter.Instant(res.rule.window/time.Microsecond)
			res.decision = limiter.Decision{At: q.now, RetryAt: until, ResetAt: until}
			blocked = true
		}
	}
	return blocked
}

// serveNext hands the request on.
func (h *Handler) serveNext(q *evaluation, w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	q.release() // the next handlers may take long
	wrapped := w
	if len(q.results()) > 0 {
		q.state.format(q.first, nil, 0)
		wrapped = q.state.wrap(w, r)
	}
	err := next.ServeHTTP(wrapped, r)
	if wrapped != w {
		q.state.unwrap()
	}
	if q.noAuth != nil {
		h.warnAuth(q)
	}
	return err
}

// warnAuth warns, once, about a zone that needs authentication which a later handler does.
func (h *Handler) warnAuth(q *evaluation) {
	z := q.noAuth
	if user, _ := q.repl.GetString(z.auth[0]); user != "" && !z.warnedAuth.Swap(true) {
		h.logger.Warn("the zone is decided before authentication: put `order rate_limit after basic_auth` into the global options",
			zap.String("zone", z.name), zap.String("placeholder", z.auth[0]))
	}
}
