package fleetlimit

import (
	"context"
	"errors"
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
		e.reportExempt()
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

// addTake adds the takes from a zone, unless the zone does not apply to the request. There is one,
// unless the path may be read in several ways.
func (e *evaluation) addTake(z *zone) error {
	rules := e.rules.of(z)
	places, err := e.placesOf(z, rules)
	if err != nil || len(places) == 0 && e.forbidden.reason == nil {
		return err
	}
	e.attachState()
	var key []byte
	var template *keytemplate.Template
	if e.forbidden.reason == nil {
		e.checkPlaceholders(z)
		e.readIdentity(z)
		key, template, err = e.keyOf(z)
	}
	if (err != nil || e.forbidden.reason != nil) && rules.dryRun.All() {
		e.passTrial(z, nil, err)
		return nil
	}
	if err != nil || template == nil {
		return err
	}
	inTrial := rules.dryRun.Includes(key)
	if of, limited := e.keyRulesOf(z, rules, template, key); limited {
		e.freeKeys = key[len(key):]
		e.addCounts(&of, places, inTrial)
	}
	if e.forbidden.reason != nil && inTrial {
		e.passTrial(z, template, nil)
	}
	return nil
}

// keyOf returns the key whose count of the zone the request uses, and the template that made it.
// The template is nil if the zone does not apply, or forbids the request.
func (e *evaluation) keyOf(z *zone) ([]byte, *keytemplate.Template, error) {
	used := z.key
	key, has, err := used.Append(e.keyBuffer(), e.request, e.repl)
	if err == nil && has != keytemplate.Present {
		if used = e.substituteKey(z, has); used == nil {
			return nil, nil, nil
		}
		key, has, err = used.Append(e.keyBuffer(), e.request, e.repl)
	}
	switch {
	case err != nil:
		return nil, nil, caddyhttp.Error(http.StatusTooEarly, err)
	case has == keytemplate.Present:
		return key, used, nil
	case !e.forbidAmbiguous(z, has, ambiguousKey):
		e.forbidden = forbidden{reason: noSubstitute, zone: z}
	}
	return nil, nil, nil
}

// keyRulesOf returns what decides which rules of the zone limit the key. None does if lists of the
// zone allow or deny it.
func (e *evaluation) keyRulesOf(z *zone, rules *zoneRules, template *keytemplate.Template, key []byte) (
	of keyRules, limited bool,
) {
	text := func() string { return template.Text(e.request, e.repl) }
	of = keyRules{zone: z, rules: rules, template: template, key: key, entries: rules.keys.Of(key), tier: withoutKey}
	var allowed, denied bool
	if of.entries != nil {
		of.now = e.time()
		allowed, denied = of.entries.accessAt(of.now)
	}
	if denied || !z.deny.Empty() && z.deny.Match(text()) {
		e.forbidden = forbidden{reason: deniedKey, zone: z, key: template}
		return of, false
	}
	if allowed || !z.allow.Empty() && z.allow.Match(text()) {
		z.usage.Allowed.Add(1)
		e.publish(decided{outcome: adminapi.Allowed, zone: z.usage, key: template, reason: allowedKey})
		return of, false
	}
	if template == z.key || !z.missing.limited {
		found := e.tierOf(z, of.entries, of.now, text)
		if e.forbidAmbiguous(z, found.presence, ambiguousTier) {
			return of, false
		}
		if of.tier, of.unknownTier = found.tier, found.unknown; found.unknown != "" {
			e.noteUnknownTier(z, found.unknown)
		}
	}
	return of, true
}

// tierOf returns the tier of a key, which the rules in force may give it.
func (e *evaluation) tierOf(z *zone, entries *keyEntries, now time.Time, key func() string) foundTier {
	if entries != nil {
		if tier, given := entries.tierAt(now); given {
			return foundTier{tier: tier}
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
		if r.Policy.Block {
			r.Block(e.now)
		} else {
			r.Decide(&takes[0], e.now)
			takes = takes[1:]
		}
	}
	results = e.state.Merge(e.first)
	for i := range results {
		if r := &results[i]; !r.Decision.OK && (e.denied == nil || r.Outweighs(e.denied)) {
			e.denied = r
		}
	}
	// If another zone denies the request, a failure decides nothing. So it is not an outage.
	if len(e.takes) > 0 && (err == nil || e.denied == nil || e.denied.Outage) {
		e.handler.takes.Note(now, err)
	}
	for i := range results {
		e.count(&results[i], e.denied != nil)
	}
	for i := range e.takes {
		if e.denied == nil {
			e.state.addCharge(&e.takes[i])
		}
	}
	return nil
}

// takeFromStore writes the decisions into the takes, and returns the first error of those that the
// store could not decide. Nothing is consumed if a rule rejects the request anyway.
func (e *evaluation) takeFromStore(now time.Time) error {
	store := e.handler.takes
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
		err = e.state.Serve(w, e.request, e.first, next)
	}
	e.checkIdentity()
	return err
}
