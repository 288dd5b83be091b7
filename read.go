package fleetlimit

import (
	"errors"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/response"
)

// A reading is what a zone says about a request.
type reading struct {
	zone     *zone
	key      []byte                // whose count the request uses
	template *keytemplate.Template // of key; nil: the zone has none for the request
	dryRun   bool                  // the zone decides and does not reject
	refusal  *response.Refusal     // why the request must not pass; nil: it may
	allowed  bool                  // a list allows the key past the zone

	tier        int
	unknownTier string // that the request has, if the zone has no such tier

	charges  [mostCharges]charge
	charged  int    // how many of charges there are; none: the zone does not limit the request
	compared charge // by the rule that is compared with that in force; the zero value: none

	// What is counted, and perhaps warned about.
	missing      bool // the request has no key
	byDefault    bool // it is counted by its client's address, as on_missing_key does not say how
	noAddress    bool // it has no client address, which its key needs
	ambiguous    int  // values
	invalidCosts int
}

// A charge is a rule that limits a request, and how many events the request counts for.
type charge struct {
	policy   *response.Policy
	endpoint int // its index in the zone
	cost     int64
}

// mostCharges is how many counts of a zone a request is charged to at most. It has several only if
// the readings of its path are at several endpoints.
const mostCharges = 4

// read reads a request, and reports whether z applies to it. The error is what to answer in place of
// any decision. What the reading refers to is valid until r is read for another request.
func (z *zone) read(r *zoneRequest, s *ruleSnapshot, found *reading) (applies bool, err error) {
	rules := s.of(z)
	*found = reading{zone: z}
	places, err := z.placesOf(r, rules, found)
	if err != nil || len(places) == 0 && found.refusal == nil {
		return false, err
	}
	found.dryRun = rules.dryRun.All()
	if found.refusal != nil {
		return true, nil
	}
	if err := z.readKey(r, found); err != nil || found.template == nil {
		return true, err
	}
	found.dryRun = rules.dryRun.Includes(found.key)
	entries := rules.keys.Of(found.key)
	if z.readAccess(r, entries, found); found.allowed || found.refusal != nil {
		return true, nil
	}
	if z.readTier(r, entries, found); found.refusal == nil {
		z.readCharges(r, rules, places, entries, found)
	}
	r.freeKeys = found.key[len(found.key):]
	return true, nil
}

// readKey finds the key whose count of the zone the request uses.
func (z *zone) readKey(r *zoneRequest, found *reading) error {
	template := z.key
	key, has, err := template.Append(r.keyBuffer(), r.request, r.repl)
	if err == nil && has != keytemplate.Present {
		if template = z.substituteKey(r, has, found); template == nil {
			return nil
		}
		key, has, err = template.Append(r.keyBuffer(), r.request, r.repl)
	}
	switch {
	case err != nil:
		return caddyhttp.Error(http.StatusTooEarly, err)
	case has == keytemplate.Present:
		found.key, found.template = key, template
	case !z.isAmbiguous(has, ambiguousKey, found):
		found.refusal = noSubstitute
	}
	return nil
}

// substituteKey returns the template that counts a request without a usable key. It returns nil if
// the zone does not apply to such requests, or refuses them.
func (z *zone) substituteKey(r *zoneRequest, has keytemplate.Presence, found *reading) *keytemplate.Template {
	if z.isAmbiguous(has, ambiguousKey, found) {
		return nil
	}
	found.noAddress = z.key.LacksAddress(r.request, r.repl)
	substitute := z.cookieKey
	if found.missing = has != keytemplate.AmbiguousCookie; found.missing {
		switch z.missing.action {
		case missingSkip:
			return nil
		case missingDeny:
			found.refusal = noKey
			return nil
		}
		substitute = z.missing.key
	}
	if substitute.LacksAddress(r.request, r.repl) {
		found.noAddress = true
		return z.socketKey
	}
	found.byDefault = found.missing && z.missing.action == missingDefault
	return substitute
}

// isAmbiguous counts a value of the zone that is ambiguous. It refuses the request for a reason,
// unless an ambiguous value counts as a missing one, and reports whether it does.
func (z *zone) isAmbiguous(presence keytemplate.Presence, reason *response.Refusal, found *reading) bool {
	if presence < keytemplate.AmbiguousCookie {
		return false
	}
	found.ambiguous++
	if presence == keytemplate.AmbiguousCookie || z.ambiguousIsMissing {
		return false
	}
	found.refusal = reason
	return true
}

// readAccess finds out whether a list of the zone, or the rules in force, allow or deny the key.
func (z *zone) readAccess(r *zoneRequest, entries *keyEntries, found *reading) {
	var allowed, denied bool
	if entries != nil {
		allowed, denied = entries.accessAt(r.time())
	}
	text := func() string { return found.template.Text(r.request, r.repl) }
	switch {
	case denied || !z.deny.Empty() && z.deny.Match(text()):
		found.refusal = deniedKey
	default:
		found.allowed = allowed || !z.allow.Empty() && z.allow.Match(text())
	}
}

// readTier finds the tier of the key, which the rules in force may give it.
func (z *zone) readTier(r *zoneRequest, entries *keyEntries, found *reading) {
	if found.template != z.key && z.missing.limited {
		found.tier = withoutKey
		return
	}
	if entries != nil {
		if tier, given := entries.tierAt(r.time()); given {
			found.tier = tier
			return
		}
	}
	tier := z.tiers.find(func() string { return found.template.Text(r.request, r.repl) }, r.request, r.repl)
	if !z.isAmbiguous(tier.presence, ambiguousTier, found) {
		found.tier, found.unknownTier = tier.tier, tier.unknown
	}
}

// readCharges finds the rules that limit the key at the endpoints with the indices places.
func (z *zone) readCharges(r *zoneRequest, rules *zoneRules, places []int, entries *keyEntries, found *reading) {
	var now time.Time
	if entries != nil {
		now = r.time()
	}
	for _, place := range places {
		at := placement{endpoint: place, tier: found.tier}
		at.findOverride(rules, entries, now)
		inForce := at.rule(rules.endpoints)
		if inForce.limits() {
			c := charge{policy: &inForce.Policy, endpoint: place}
			if !inForce.Block {
				var has keytemplate.Presence
				c.cost, has = rules.endpoints[place].cost.of(inForce, r.request, r.repl)
				if z.isAmbiguous(has, ambiguousCost, found) {
					return
				}
				if has != keytemplate.Present {
					found.invalidCosts++
				}
			}
			found.add(c)
		}
		if rules.compared != nil && len(places) == 1 {
			found.compare(r, rules, &at, inForce)
		}
	}
}

// add adds a charge. What is charged to one count several times is charged the highest cost.
func (f *reading) add(c charge) {
	for i := range f.charges[:f.charged] {
		if same := &f.charges[i]; same.policy.Rule != nil && c.policy.Rule != nil && same.policy.ID == c.policy.ID {
			same.cost = max(same.cost, c.cost)
			return
		}
	}
	if f.charged == mostCharges {
		f.refusal = ambiguousPath(errTooManyEndpoints)
		f.ambiguous++
		return
	}
	f.charges[f.charged] = c
	f.charged++
}

// errTooManyEndpoints is about a path with readings at more than mostCharges endpoints.
var errTooManyEndpoints = errors.New("the path is at too many endpoints: use one with fewer of %2f, ; and //")

// compare finds the rule that is compared with inForce, if there is one for the key. inForce is nil
// if the zone does not limit the request.
func (f *reading) compare(r *zoneRequest, rules *zoneRules, at *placement, inForce *rule) {
	if !rules.compared.keys.Includes(f.key) {
		return
	}
	compared := at.rule(rules.compared.endpoints)
	if compared == nil || at.override != nil && compared.decidesAs(inForce) {
		return
	}
	f.compared = charge{policy: &compared.Policy, endpoint: at.endpoint}
	if compared.Rule != nil {
		f.compared.cost, _ = rules.endpoints[at.endpoint].cost.of(compared, r.request, r.repl)
	}
}

// result returns a result for a charge that nobody has decided yet.
func (f *reading) result(c *charge) response.Result {
	return response.Result{
		Zone: f.zone.usage, Legacy: f.zone.legacy, Policy: c.policy, Endpoint: c.endpoint, Tier: f.tier, Template: f.template, Cost: c.cost,
		UnknownTier: f.unknownTier,
	}
}

// lookup returns the names of the endpoint and the tier of a decision about the key that a template
// makes, and the tier that the request has if the zone has no such tier. result is nil if the zone
// has decided without a rule: then the endpoint is where Caddy reads the request to be.
func (z *zone) lookup(r *zoneRequest, s *ruleSnapshot, template *keytemplate.Template, result *response.Result) (
	endpoint, tier, unknown string,
) {
	rules := s.of(z)
	if result != nil {
		return rules.endpoints[result.Endpoint].name(), z.tiers.name(result.Tier), result.UnknownTier
	}
	place := len(rules.endpoints) - 1
	if path, err := r.readings(); err == nil {
		place = rules.endpointFor(r.request.Method, &path.Readings()[0])
	}
	endpoint = rules.endpoints[place].name()
	found := reading{template: template}
	if key, has, err := template.Append(nil, r.request, r.repl); err == nil && has == keytemplate.Present {
		z.readTier(r, rules.keys.Of(key), &found)
	}
	return endpoint, z.tiers.name(found.tier), found.unknownTier
}
