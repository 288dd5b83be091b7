package zone

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// A Reading is what a zone says about a request.
type Reading struct {
	Zone     *Zone
	Key      []byte                // whose count the request uses
	Template *keytemplate.Template // of key; nil if the zone has none for the request
	DryRun   bool                  // the zone decides and does not reject
	Refusal  *response.Refusal     // why the request must not pass; nil if it may
	Allowed  bool                  // a list allows the key past the zone

	tier        int
	UnknownTier string // that the request has, if the zone has no such tier

	Compared Charge // by the rule that is compared with that in force; the zero value: none

	// Charges are the limits of the rate, and Concurrent those of requests at once. Without any, the
	// zone does not limit the request. They are valid until the next zone is read.
	Charges, Concurrent []Charge

	// What is counted, and perhaps warned about.
	Missing      bool // the request has no key
	ByDefault    bool // it is counted by its client's address, as on_missing_key does not say how
	NoAddress    bool // it has no client address, which its key needs
	Ambiguous    int  // values
	InvalidCosts int
}

// A Charge is a rule that limits a request, and how many events the request counts for.
type Charge struct {
	Policy   *response.Policy
	Cost     int64
	Reserves response.Reservation // why Cost is reserved; "" if it counts
	endpoint int                  // its index in the zone
	own      bool                 // the limit is that of the endpoint, not of the zone
	counters *usage.Counters
	Counts   *config.StatusSet // the statuses with which it counts; nil if all
	Wait     time.Duration     // for how long the request may wait for its turn
	Late     *LateCharge       // Cost is reserved until the response has ended; nil if it is what counts
}

// mostCharges is how many counts of a zone a request is charged to at most. It has several only if
// the readings of its path are at several endpoints.
const mostCharges = 4

// Read reads a request, and reports whether z applies to it. The error is what to answer in place
// of any decision. What the reading refers to is valid until r is read for another request.
func (z *Zone) Read(r *Request, s *Snapshot, found *Reading) (applies bool, err error) {
	rules := s.rulesFor(z)
	charges, concurrent := found.Charges[:0], found.Concurrent[:0]
	*found = Reading{}
	found.Zone, found.Charges, found.Concurrent = z, charges, concurrent
	places, err := z.placesOf(r, rules, found)
	if err != nil || len(places) == 0 && found.Refusal == nil {
		return false, err
	}
	found.DryRun = rules.dryRun.All()
	if found.Refusal != nil {
		return true, nil
	}
	if err := z.readKey(r, found); err != nil || found.Template == nil {
		return true, err
	}
	found.DryRun = rules.dryRun.Includes(found.Key)
	entries := rules.keys.find(found.Key)
	if z.readAccess(r, entries, found); found.Allowed || found.Refusal != nil {
		return true, nil
	}
	if z.readTier(r, entries, found); found.Refusal == nil {
		z.readCharges(r, rules, places, entries, found)
		z.readConcurrent(r, rules, places, entries, found)
	}
	r.freeKeys = found.Key[len(found.Key):]
	return true, nil
}

// readKey finds the key whose count of the zone the request uses.
func (z *Zone) readKey(r *Request, found *Reading) error {
	template := z.Key
	key, has, err := template.Append(r.KeyBuffer(), r.HTTP, r.Repl)
	if err == nil && has != keytemplate.Present {
		if template = z.substituteKey(r, has, found); template == nil {
			return nil
		}
		key, has, err = template.Append(r.KeyBuffer(), r.HTTP, r.Repl)
	}
	switch {
	case err != nil:
		return caddyhttp.Error(http.StatusTooEarly, err)
	case has == keytemplate.Present:
		found.Key, found.Template = key, template
	case !z.isAmbiguous(has, ambiguousKey, found):
		found.Refusal = noSubstitute
	}
	return nil
}

// substituteKey returns the template that counts a request without a usable key. It returns nil if
// the zone does not apply to such requests, or refuses them.
func (z *Zone) substituteKey(r *Request, has keytemplate.Presence, found *Reading) *keytemplate.Template {
	if z.isAmbiguous(has, ambiguousKey, found) {
		return nil
	}
	found.NoAddress = z.Key.LacksAddress(r.HTTP, r.Repl)
	substitute := z.cookieKey
	if found.Missing = has != keytemplate.AmbiguousCookie; found.Missing {
		switch z.missing.action {
		case missingSkip:
			return nil
		case missingDeny:
			found.Refusal = noKey
			return nil
		}
		substitute = z.missing.key
	}
	if substitute.LacksAddress(r.HTTP, r.Repl) {
		found.NoAddress = true
		return z.socketKey
	}
	found.ByDefault = found.Missing && z.missing.action == missingDefault
	return substitute
}

// isAmbiguous counts a value of the zone that is ambiguous. It refuses the request for a reason,
// unless an ambiguous value counts as a missing one, and reports whether it does.
func (z *Zone) isAmbiguous(presence keytemplate.Presence, reason *response.Refusal, found *Reading) bool {
	if presence < keytemplate.AmbiguousCookie {
		return false
	}
	found.Ambiguous++
	if presence == keytemplate.AmbiguousCookie || z.ambiguousIsMissing {
		return false
	}
	found.Refusal = reason
	return true
}

// readAccess finds out whether a list of the zone, or the rules in force, allow or deny the key.
func (z *Zone) readAccess(r *Request, entries *keyEntries, found *Reading) {
	var allowed, denied bool
	if entries != nil {
		allowed, denied = entries.accessAt(r.Time())
	}
	text := func() string { return found.Template.Text(r.HTTP, r.Repl) }
	switch {
	case denied || !z.deny.Empty() && z.deny.Match(text()):
		found.Refusal = deniedKey
	default:
		found.Allowed = allowed || !z.allow.Empty() && z.allow.Match(text())
	}
}

// readTier finds the tier of the key, which the rules in force may give it.
func (z *Zone) readTier(r *Request, entries *keyEntries, found *Reading) {
	if found.Template != z.Key && z.missing.limited {
		found.tier = withoutKey
		return
	}
	if entries != nil {
		if tier, given := entries.tierAt(r.Time()); given {
			found.tier = tier
			return
		}
	}
	tier := z.tiers.find(func() string { return found.Template.Text(r.HTTP, r.Repl) }, r.HTTP, r.Repl)
	if !z.isAmbiguous(tier.presence, ambiguousTier, found) {
		found.tier, found.UnknownTier = tier.tier, tier.unknown
	}
}

// readCharges finds the rules that limit the key at the endpoints with the indices places.
func (z *Zone) readCharges(r *Request, rules *zoneRules, places []int, entries *keyEntries, found *Reading) {
	var now time.Time
	if entries != nil {
		now = r.Time()
	}
	for _, place := range places {
		at := placement{endpoint: place, tier: found.tier}
		at.findOverride(rules, entries, now)
		inForce := at.rule(rules.endpoints)
		if inForce.limits() {
			e := &rules.endpoints[place]
			c := Charge{
				Policy: &inForce.Policy, endpoint: place, own: inForce.CountID == e.id, counters: e.countersOf(found.tier),
				Counts: e.counts, Wait: e.wait.waitFor(e.counts), Late: e.late,
			}
			if !inForce.Block {
				var has keytemplate.Presence
				c.Cost, c.Reserves, has = e.costOf(inForce, found.Key, r)
				if z.isAmbiguous(has, ambiguousCost, found) {
					return
				}
				if has != keytemplate.Present {
					found.InvalidCosts++
				}
			}
			found.add(c)
		}
		if rules.compared != nil && len(places) == 1 {
			found.compare(r, rules, &at, inForce)
		}
	}
}

// costOf returns what a request of key takes under inForce: its cost, or what it reserves.
func (e *endpointRules) costOf(inForce *rule, key []byte, r *Request) (int64, response.Reservation, keytemplate.Presence) {
	if e.late != nil {
		return e.late.reservation(inForce, key, r.HTTP, r.Repl)
	}
	n, has := e.cost.eventsOf(inForce, r.HTTP, r.Repl)
	return n, "", has
}

// add adds a charge. What is charged to one count several times is charged the highest cost, if any
// of them counts.
func (f *Reading) add(c Charge) {
	for i := range f.Charges {
		if same := &f.Charges[i]; same.Policy.Rule != nil && c.Policy.Rule != nil && same.Policy.ID == c.Policy.ID {
			if c.Cost > same.Cost {
				same.Cost, same.Reserves = c.Cost, c.Reserves
			}
			same.Wait, same.Late = min(same.Wait, c.Wait), cmp.Or(same.Late, c.Late)
			if same.Counts != c.Counts {
				same.Counts = eitherCounts(same.Counts, c.Counts)
			}
			return
		}
	}
	if len(f.Charges) == mostCharges {
		f.Refusal = ambiguousPath(errTooManyEndpoints)
		f.Ambiguous++
		return
	}
	f.Charges = append(f.Charges, c)
}

// eitherCounts returns the statuses with which a or b counts. nil is all statuses.
func eitherCounts(a, b *config.StatusSet) *config.StatusSet {
	if a == nil || b == nil {
		return nil
	}
	return a.Union(b)
}

// errTooManyEndpoints is about a path with readings at more than mostCharges endpoints.
var errTooManyEndpoints = errors.New("the path is at too many endpoints: use one with fewer of %2f, ; and //")

// compare finds the rule that is compared with inForce, if there is one for the key. inForce is nil
// if the zone does not limit the request.
func (f *Reading) compare(r *Request, rules *zoneRules, at *placement, inForce *rule) {
	if !rules.compared.keys.Includes(f.Key) {
		return
	}
	compared := at.rule(rules.compared.endpoints)
	if compared == nil || at.override != nil && compared.decidesAs(inForce) {
		return
	}
	e := &rules.endpoints[at.endpoint]
	f.Compared = Charge{Policy: &compared.Policy, counters: e.countersOf(f.tier), Counts: e.counts, Late: e.late}
	if compared.Rule != nil {
		f.Compared.Cost, _, _ = e.costOf(compared, f.Key, r)
	}
}

// Where returns the endpoint and the tier of the request that a charge is about.
func (c *Charge) Where() (endpoint, tier string) { return c.counters.Endpoint, c.counters.Tier }

// Describe has r, which is empty, say what a charge is for.
func (f *Reading) Describe(c *Charge, r *response.Result) {
	r.ZoneResponses, r.Counters, r.Policy, r.Template = &f.Zone.ZoneResponses, c.counters, c.Policy, f.Template
	r.Cost, r.Reserves, r.UnknownTier = c.Cost, c.Reserves, f.UnknownTier
	if c.own {
		r.Endpoint = c.counters.Endpoint
	}
}

// Lookup returns the names of the endpoint and the tier of a decision without a rule about the key
// that a template makes, and the tier that the request has if the zone has no such tier. The
// endpoint is where Caddy reads the request to be.
func (z *Zone) Lookup(r *Request, s *Snapshot, template *keytemplate.Template) (endpoint, tier, unknown string) {
	rules := s.rulesFor(z)
	endpoint = rules.endpoints[z.placeOf(r, rules)].name()
	found := Reading{Template: template}
	if key, has, err := template.Append(nil, r.HTTP, r.Repl); err == nil && has == keytemplate.Present {
		z.readTier(r, rules.keys.find(key), &found)
	}
	return endpoint, z.tiers.name(found.tier), found.UnknownTier
}
