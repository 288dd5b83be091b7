package fleetlimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e := newEvaluation(h, r)
	err := e.evaluate()
	switch {
	case err != nil:
		e.rollback()
	case e.forbidden.reason != nil:
		err = e.forbid(w)
	case e.denied != nil:
		err = e.reject(w)
	default:
		err = e.serveNext(w, next)
	}
	e.release()
	return err
}

// evaluate takes from all zones that apply to the request: from every one of them or from none.
// There are none if the client's address is allowed, if emergency mode rejects the request, or if
// anything forbids it.
func (e *evaluation) evaluate() error {
	exempt, denied, err := e.handler.addresses.check(e.request, e.rules.addresses)
	switch {
	case err != nil:
		return err
	case exempt:
		metrics.addressAllowed.Add(1)
		e.publish(decided{outcome: adminapi.Allowed, reason: allowedAddress})
		return nil
	case denied:
		e.forbidden = forbidden{reason: deniedAddress}
		return nil
	}
	if err := e.takeInEmergency(); err != nil || e.denied != nil {
		return err
	}
	for _, z := range e.handler.zones {
		if err := e.addTake(z); err != nil || e.forbidden.reason != nil {
			return err
		}
	}
	if err := e.take(); err != nil {
		return err
	}
	if len(e.trials) > 0 && e.denied == nil {
		e.takeTrials()
	}
	if len(e.comparisons) > 0 {
		e.takeComparisons()
	}
	return nil
}

// addTake adds the take from a zone, unless the zone does not apply to the request.
func (e *evaluation) addTake(z *zone) error {
	matches, err := z.matchers.AnyMatchWithError(e.request)
	if err != nil || !matches {
		return err
	}
	e.attachState()
	e.checkPlaceholders(z)
	e.readIdentity(z)
	rules := e.rules.of(z)
	key, template, err := e.keyOf(z)
	if (err != nil || e.forbidden.reason != nil) && rules.dryRun.All() {
		e.passTrial(z, nil, err)
		return nil
	}
	if err != nil || template == nil {
		return err
	}
	inTrial := rules.dryRun.Includes(key)
	at, limited, err := e.placementOf(z, rules, template, key)
	var rule *rule
	var cost int64
	if err == nil && limited {
		rule, cost, err = e.ruleOf(z, rules, &at)
	}
	if (err != nil || e.forbidden.reason != nil) && inTrial {
		e.passTrial(z, template, err)
		return nil
	}
	if err != nil || !limited {
		return err
	}
	e.freeKeys = key[len(key):]
	if rules.compared != nil {
		e.addComparison(z, rules, &at, rule, key)
	}
	if rule == nil {
		return nil
	}
	result := zoneResult{zone: z, rule: rule, template: template, headers: e.handler.headers}
	take := limiter.Take{Rule: rule.Rule, Key: key, Cost: cost}
	switch {
	case inTrial:
		e.trials = append(e.trials, trial{result, take})
		return nil
	case rule.block:
		e.blocked = true
	default:
		e.takes = append(e.takes, take)
	}
	e.state.results = append(e.state.results, result)
	return nil
}

// keyOf returns the key whose count of the zone the request uses, and the template that made it.
// The template is nil if the zone does not apply, or forbids the request.
func (e *evaluation) keyOf(z *zone) ([]byte, *keytemplate.Template, error) {
	used := z.key
	key, has, err := used.Append(e.keyBuffer(), e.request, e.repl)
	if err == nil && has != keytemplate.Present {
		if used, err = e.substituteKey(z, has); used == nil {
			return nil, nil, err
		}
		key, has, err = used.Append(e.keyBuffer(), e.request, e.repl)
	}
	switch {
	case err != nil:
		return nil, nil, caddyhttp.Error(http.StatusTooEarly, err)
	case has != keytemplate.Present:
		return nil, nil, caddyhttp.Error(http.StatusBadRequest,
			fmt.Errorf("the request has neither the key of zone %q nor that of on_missing_key", z.name))
	}
	return key, used, nil
}

// A placement is what decides which rule of its zone a request falls under.
type placement struct {
	endpoint int // its index
	tier     int // or withoutKey
	override *override
}

// withoutKey is the tier of requests that fall under endpointRules.withoutKey.
const withoutKey = -1

// rule returns the rule of endpoints at a placement, or nil if there is none.
func (p *placement) rule(endpoints []endpointRules) *rule {
	e := &endpoints[p.endpoint]
	r := e.withoutKey
	if p.tier != withoutKey {
		r = e.rules[p.tier]
	}
	if r != nil && p.override != nil {
		return p.override.of(r)
	}
	return r
}

// placementOf returns where the request falls in the zone. It does not if lists of the zone allow
// or deny its key.
func (e *evaluation) placementOf(z *zone, rules *zoneRules, template *keytemplate.Template, key []byte) (
	at placement, limited bool, _ error,
) {
	text := func() string { return template.Text(e.request, e.repl) }
	entries, now := rules.keys.Of(key), time.Time{}
	var allowed, denied bool
	if entries != nil {
		now = e.time()
		allowed, denied = entries.accessAt(now)
	}
	if denied || !z.deny.Empty() && z.deny.Match(text()) {
		e.forbidden = forbidden{reason: deniedKey, zone: z, key: template}
		return at, false, nil
	}
	if allowed || !z.allow.Empty() && z.allow.Match(text()) {
		z.counters.allowed.Add(1)
		e.publish(decided{outcome: adminapi.Allowed, zone: z, key: template, reason: allowedKey})
		return at, false, nil
	}
	at = placement{endpoint: rules.endpointFor(e.request), tier: withoutKey}
	if template == z.key || !z.missing.limited {
		var has keytemplate.Presence
		at.tier, has = e.tierOf(z, entries, now, text)
		if err := z.checkAmbiguous("tier", has); err != nil {
			return at, false, err
		}
	}
	if entries != nil {
		at.override = entries.overrideAt(now, at.endpoint)
	}
	return at, true, nil
}

// ruleOf returns the rule in force at a placement, and the cost of the request. The rule is nil if
// it does not limit the request.
func (e *evaluation) ruleOf(z *zone, rules *zoneRules, at *placement) (_ *rule, cost int64, _ error) {
	rule := at.rule(rules.endpoints)
	switch {
	case rule == nil || rule.unlimited():
		return nil, 0, nil
	case rule.block:
		return rule, 0, nil
	}
	cost, has := rules.endpoints[at.endpoint].cost.of(rule, e.request, e.repl)
	if err := z.checkAmbiguous("cost", has); err != nil {
		return nil, 0, err
	}
	if has != keytemplate.Present {
		z.counters.invalidCosts.Add(1)
	}
	return rule, cost, nil
}

// tierOf returns the tier of a key, which the rules in force may give it. presence is that of the
// placeholder, if it was read.
func (e *evaluation) tierOf(z *zone, entries *keyEntries, now time.Time, key func() string) (
	tier int, presence keytemplate.Presence,
) {
	if entries != nil {
		if tier, given := entries.tierAt(now); given {
			return tier, keytemplate.Present
		}
	}
	return z.tiers.find(key, e.request, e.repl)
}

// take has the store decide the takes, and sets denied if any zone rejects the request. It returns
// an error only if the client has gone meanwhile.
func (e *evaluation) take() error {
	results := e.results()
	if len(results) == 0 {
		return nil
	}
	now := e.time()
	e.now = limiter.At(now)
	err := e.takeFromStore(now)
	if err != nil {
		if gone := clientGoneError(e.request.Context()); gone != nil {
			return gone
		}
	}
	takes := e.takes
	for i := range results {
		r := &results[i]
		if r.rule.block {
			r.block(e.now)
		} else {
			r.decide(&takes[0], e.now)
			takes = takes[1:]
		}
		if !r.decision.OK && (e.denied == nil || r.outweighs(e.denied)) {
			e.denied = r
		}
	}
	// If another zone denies the request, a failure decides nothing. So it is not an outage.
	if len(e.takes) > 0 && (err == nil || e.denied == nil || e.denied.outage) {
		e.handler.logTransition(err, now)
	}
	for i := range results {
		e.count(&results[i], e.denied != nil)
	}
	return nil
}

// takeFromStore writes the decisions into the takes, and returns the first error of those that the
// store could not decide. Nothing is consumed if a rule rejects the request anyway.
func (e *evaluation) takeFromStore(now time.Time) error {
	store := e.handler.app.store
	switch {
	case len(e.takes) == 0:
		return nil
	case e.blocked:
		return store.Peek(e.request.Context(), now, e.takes)
	}
	return store.Take(e.request.Context(), now, e.takes)
}

// clientGoneError returns the error of a request that ended while it waited for the store, else
// nil. The failure of its takes is no outage. Such a request must not go on: it would be admitted
// uncounted, and later handlers may act on it before they notice that the client has gone.
func clientGoneError(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return caddyhttp.Error(http.StatusGatewayTimeout, err)
	}
	return caddyhttp.Error(499, err) // the status that Caddy too logs if the client has gone
}

// serveNext hands the request on, and sets the headers of its response. Then it checks what the
// zones have read against what the next handlers have set.
func (e *evaluation) serveNext(w http.ResponseWriter, next caddyhttp.Handler) (err error) {
	if len(e.results()) == 0 {
		err = next.ServeHTTP(w, e.request)
	} else {
		e.state.formatHeaders(e.first, nil, 0)
		err = e.state.serve(w, e.request, next)
	}
	e.checkIdentity()
	return err
}
