package fleetlimit

import (
	"errors"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/response"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A placement is what decides which rule of its zone a request falls under.
type placement struct {
	endpoint int // its index
	tier     int // or withoutKey
	override *override
}

// withoutKey is the tier of requests that fall under endpointRules.withoutKey.
const withoutKey = -1

// configured returns the rule of endpoints at a placement without its override, or nil if there is
// none.
func (p *placement) configured(endpoints []endpointRules) *rule {
	e := &endpoints[p.endpoint]
	if p.tier == withoutKey {
		return e.withoutKey
	}
	return e.rules[p.tier]
}

// rule returns the rule of endpoints at a placement, or nil if there is none.
func (p *placement) rule(endpoints []endpointRules) *rule {
	r := p.configured(endpoints)
	if r != nil && p.override != nil {
		return p.override.of(r)
	}
	return r
}

// findOverride sets the override of a key with these entries, nil for none, at a placement.
func (p *placement) findOverride(rules *zoneRules, entries *keyEntries, now time.Time) {
	p.override = nil
	if entries != nil {
		p.override = entries.overrideAt(now, rules.countedAt(p.endpoint, p.configured(rules.endpoints)))
	}
}

// keyRules are what decides which rules of a zone limit a key, besides the endpoint.
type keyRules struct {
	zone     *zone
	rules    *zoneRules
	template *keytemplate.Template // of key
	key      []byte
	entries  *keyEntries // nil: none
	now      time.Time   // if there are entries
	tier     int         // or withoutKey

	unknownTier string // that the request has, if its zone has no such tier
}

// mostCounts is how many counts of a zone a request is charged to at most. It has several only if
// the readings of its path are at several endpoints.
const mostCounts = 4

// addCounts adds a take for each count that the request uses at the endpoints with these indices.
func (e *evaluation) addCounts(of *keyRules, places []int, inTrial bool) {
	results, takes, trials := len(e.results()), len(e.takes), len(e.trials)
	for _, place := range places {
		at := placement{endpoint: place, tier: of.tier}
		at.findOverride(of.rules, of.entries, of.now)
		rule, cost := e.ruleOf(of, &at)
		if rule != nil && rule.Rule != nil {
			if cost -= e.charged(of.zone, rule.Rule, of.key); cost <= 0 {
				continue
			}
		}
		if of.rules.compared != nil && len(places) == 1 {
			e.addComparison(of.zone, of.rules, &at, rule, of.key)
		}
		if rule == nil || e.raiseCost(rule, cost, results, takes, trials) {
			continue
		}
		result := response.Result{
			Zone: of.zone.usage, Legacy: of.zone.legacy, Policy: &rule.Policy, Endpoint: place, Template: of.template, Cost: cost, Headers: e.handler.headers,
			UnknownTier: of.unknownTier,
		}
		take := limiter.Take{Rule: rule.Rule, Key: of.key, Cost: cost}
		switch {
		case inTrial:
			e.trials = append(e.trials, trial{result, take})
			continue
		case rule.Block:
			e.blocked = true
		default:
			e.takes = append(e.takes, take)
		}
		e.state.Add(result)
	}
	if len(e.results())-results+len(e.trials)-trials > mostCounts {
		e.forbidPath(of.zone, errTooManyEndpoints)
	}
	if e.forbidden.reason != nil {
		e.trials = e.trials[:trials]
	}
}

// errTooManyEndpoints is about a path with readings at more than mostCounts endpoints.
var errTooManyEndpoints = errors.New("the path is at too many endpoints: use one with fewer of %2f, ; and //")

// ruleOf returns the rule in force at a placement, and the cost of the request. The rule is nil if
// it does not limit the request.
func (e *evaluation) ruleOf(of *keyRules, at *placement) (_ *rule, cost int64) {
	rule := at.rule(of.rules.endpoints)
	switch {
	case rule == nil || rule.Unlimited():
		return nil, 0
	case rule.Block:
		return rule, 0
	}
	cost, has := of.rules.endpoints[at.endpoint].cost.of(rule, e.request, e.repl)
	if e.forbidAmbiguous(of.zone, has, ambiguousCost) {
		return nil, 0
	}
	if has != keytemplate.Present {
		of.zone.usage.InvalidCosts.Add(1)
	}
	return rule, cost
}

// raiseCost reports whether the results and takes, or trials, from these indices on have the count
// of a rule. That is then charged the highest of the costs.
func (e *evaluation) raiseCost(r *rule, cost int64, results, takes, trials int) bool {
	if r.Rule == nil {
		return false
	}
	raise := func(result *response.Result, t *limiter.Take) bool {
		same := t.Rule.ID == r.ID
		if same {
			t.Cost = max(t.Cost, cost)
			result.Cost = t.Cost
		}
		return same
	}
	for i := range e.trials[trials:] {
		if t := &e.trials[trials+i]; t.take.Rule != nil && raise(&t.result, &t.take) {
			return true
		}
	}
	all := e.results()
	for i := results; i < len(all); i++ {
		if all[i].Policy.Rule == nil { // it blocks, and has no take
			continue
		}
		if raise(&all[i], &e.takes[takes]) {
			return true
		}
		takes++
	}
	return false
}
