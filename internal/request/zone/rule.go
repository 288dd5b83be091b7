package zone

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/text/route"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// endpointRules are the rules of an endpoint, or of the rest of a zone.
type endpointRules struct {
	route *route.Route // nil for all requests
	id    uint32       // of its own counts, which it has only for tiers with a limit there
	rules []*rule      // by tier; the first is for keys without a tier
	cost  cost

	concurrent []*response.Policy // by tier, as rules; nil if no tier has a limit of requests at once
	inFlightID uint32             // of its own count of requests at once
	counts     *config.StatusSet  // which requests count; nil if all
	wait       waits
	late       *LateCharge // in place of cost, once the response has ended; nil if there is none

	withoutKey *rule // for requests without a key, if the zone has a limit for them

	usage    *usage.ZoneCounters
	tiers    *tierFinder
	counters []atomic.Pointer[usage.Counters] // by tier, from withoutKey on; nil before the first decision
}

// countersOf returns the counters of the decisions for a tier. They are made at the first one: of
// many zones, few have requests of all tiers at all endpoints.
func (e *endpointRules) countersOf(tier int) *usage.Counters {
	known := &e.counters[tier-withoutKey]
	if c := known.Load(); c != nil {
		return c
	}
	c := e.usage.Counters(e.name(), e.tiers.name(tier))
	known.Store(c)
	return c
}

// A rule is the limit of an endpoint for a tier.
type rule struct {
	response.Policy
	compiled limiter.Rule // Policy.Rule, unless that is nil; then what the limit does not set
	limit    config.Limit

	compared bool // it is not in force, but compared with the one that is
}

// errNoBurst is about a limit with a burst where the algorithm has none.
var errNoBurst = errors.New("has no burst: use token_bucket, or a limit without burst")

// base returns what the limit of r does not set.
func (r *rule) base() limiter.Rule { return r.compiled.Settings() }

// source returns what r was compiled from.
func (r *rule) source() ruleSource { return ruleSource{r.base(), r.limit} }

// newCountedRule returns base with limit, nil if that is block or unlimited.
func newCountedRule(base limiter.Rule, limit *config.Limit) (*limiter.Rule, error) {
	if err := limit.Check(); err != nil {
		return nil, config.ErrorIn("limit", err)
	}
	if limit.Block || limit.Unlimited {
		return nil, nil
	}
	if limit.Burst > 0 && !base.Algorithm.Kind.Refills() {
		return nil, config.ErrorIn("limit", fmt.Errorf("limit: %v %w", base.Algorithm.Kind, errNoBurst))
	}
	base.Limit = limit.Compile()
	return limiter.NewRule(base)
}

// A ruleBuilder compiles the rules of a zone.
type ruleBuilder struct {
	set    *Set
	handle limiter.Counts
	usage  *usage.ZoneCounters // nil if no requests come
	name   string
	zone   *config.Zone
	tiers  *tierFinder

	withoutKey *rule  // of on_missing_limit; nil if there is none
	compared   bool   // it compiles comparedRules
	memory     string // what is to be said of that of the zone
	fewerKeys  int    // than the zone may have by max_keys, because of its memory; 0 if it may have these

	earlier  map[ruleSource]*rule // that were compiled before
	compiled map[ruleSource]*rule // that this builder has compiled, or taken from earlier

	warnings []error // see zone
}

// endpoints compiles the endpoints of the zone and, as the last, the rest of the zone. It may be
// called again, when the zone has fewer keys: see boundMemory.
func (b *ruleBuilder) endpoints() ([]endpointRules, error) {
	b.compiled, b.warnings = make(map[ruleSource]*rule), nil
	if err := b.zone.CheckEnforcement(); err != nil {
		return nil, err
	}
	if err := config.CheckConcurrent(b.zone.Concurrent); err != nil {
		return nil, config.ErrorIn("concurrent", err)
	}
	if err := config.CheckWait(b.zone.Wait); err != nil {
		return nil, config.ErrorIn("wait", err)
	}
	if err := config.CheckCharge(b.zone.Charge, b.zone.ChargeMax, b.zone.Cost, b.zone.CountStatus); err != nil {
		return nil, err
	}
	if b.zone.MaxKeys < 0 {
		return nil, fmt.Errorf("max_keys is %d: use 1 or more", b.zone.MaxKeys)
	}
	if err := b.compileWithoutKey(); err != nil {
		return nil, err
	}
	rest, err := b.build(new(config.Endpoint), nil, nil)
	if err != nil {
		return nil, err
	}
	all := make([]endpointRules, 0, len(b.zone.Endpoints)+1)
	for i, e := range b.zone.Endpoints {
		if e == nil {
			return nil, fmt.Errorf("endpoint %d is empty: use at least a path", i+1)
		}
		compiled, err := b.endpoint(e, rest)
		if err != nil {
			return nil, b.errorAt(i, err)
		}
		for earlier := range all {
			if r := all[earlier].route; r.Covers(compiled.route) {
				return nil, compiled.route.ShadowedBy(r, fmt.Sprintf("place %d", earlier+1))
			}
		}
		b.warnings = append(b.warnings, compiled.route.Warnings()...)
		all = append(all, *compiled)
	}
	for i := range all {
		if b.zone.Limit != nil && b.zone.Endpoints[i].Limit != nil && all[i].route.MatchesAll() {
			b.warnings = append(b.warnings, fmt.Errorf("endpoint %s matches every request, so the limit of the zone is not "+
				"used: use `limit` without this endpoint, or a narrower path", all[i].route))
		}
	}
	switch {
	case b.tiers != nil && b.tiers.fallback == noTier && rest.rules[noTier] == nil && b.zone.Concurrent == 0 &&
		b.zone.Adaptive == nil:
		return nil, fmt.Errorf("keys without a tier have no limit: use `limit`, or `default` in `tier`")
	case rest.concurrent != nil, b.zone.Adaptive != nil && len(all) == 0 && b.zone.Limit == nil && b.withoutKey == nil:
	case len(all) == 0 && rest.empty() && b.withoutKey != nil:
		return nil, fmt.Errorf("no limit for requests with a key: use one, such as `limit 100/1m` or `limit unlimited`")
	case len(all) == 0 && rest.empty():
		return nil, fmt.Errorf("no limit: use one, such as `limit 100/1m`")
	}
	all = append(all, *rest)
	if err := b.checkCharges(all); err != nil {
		return nil, err
	}
	for i := range all {
		b.addCounters(&all[i])
	}
	return all, nil
}

// errorAt returns err with the endpoint of the zone at a place that it is about.
func (b *ruleBuilder) errorAt(place int, err error) error {
	return &config.SettingError{
		Endpoint: place + 1, Err: fmt.Errorf("endpoint %d (%s): %w", place+1, b.zone.Endpoints[place].Path, err),
	}
}

// addCounters gives e what makes the counters of its decisions.
func (b *ruleBuilder) addCounters(e *endpointRules) {
	if b.usage == nil || b.compared {
		return
	}
	e.usage, e.tiers = b.usage, b.tiers
	e.counters = make([]atomic.Pointer[usage.Counters], len(e.rules)-withoutKey)
}

// endpoint compiles an endpoint of the zone. rest is the rest of the zone.
func (b *ruleBuilder) endpoint(e *config.Endpoint, rest *endpointRules) (*endpointRules, error) {
	r, err := route.New(e.Methods, e.Path)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(e.CheckEnforcement(), config.CheckConcurrent(e.Concurrent), config.CheckWait(e.Wait),
		config.CheckCharge(e.Charge, e.ChargeMax, e.Cost, e.CountStatus)); err != nil {
		return nil, err
	}
	if len(e.Tiers) > 0 && b.tiers == nil {
		return nil, fmt.Errorf("limits for tiers, but the zone has no tiers: use `tier` in the zone")
	}
	for name, tier := range e.Tiers {
		if _, err := b.tiers.named(name); err != nil {
			return nil, err
		}
		if tier == nil || *tier == (config.Tier{}) {
			return nil, fmt.Errorf("tier %q is empty: use a limit for this endpoint", name)
		}
		if err := cmp.Or(tier.CheckEnforcement(), config.CheckConcurrent(tier.Concurrent)); err != nil {
			return nil, fmt.Errorf("tier %q: %w", name, err)
		}
	}
	if err := e.CheckOwnLimit(); err != nil {
		return nil, err
	}
	compiled, err := b.build(e, r, rest)
	if err == nil && compiled.empty() && compiled.concurrent == nil {
		err = errors.New("no limit: use one here or in the zone")
	}
	return compiled, err
}

// empty reports whether e limits no key. Every tier has a limit, so the last rule decides.
func (e *endpointRules) empty() bool { return e.rules[len(e.rules)-1] == nil }

// build compiles the rules of all tiers at an endpoint. A tier without a limit there has the rule,
// and so the count, of the rest of the zone. That itself has no route, and no rest.
func (b *ruleBuilder) build(e *config.Endpoint, r *route.Route, rest *endpointRules) (*endpointRules, error) {
	all := &endpointRules{route: r, rules: make([]*rule, b.tiers.rules())}
	path := ""
	if r != nil {
		path = r.String()
	}
	base, err := b.base(e.Algorithm, b.zone.Key, path)
	if r != nil {
		base.MaxWait = newWaits(cmp.Or(e.Wait, b.zone.Wait)).forTurn
	}
	if err != nil {
		return nil, err
	}
	all.id = base.ID
	if all.cost, err = newCost(cmp.Or(e.Cost, b.zone.Cost)); err != nil {
		return nil, config.ErrorIn("cost", err)
	}
	if all.late, err = b.lateCharge(e, path); err != nil {
		return nil, config.ErrorIn("charge", fmt.Errorf("charge: %w", err))
	}
	statuses := e.CountStatus
	if len(statuses) == 0 && e.Charge == nil {
		statuses = b.zone.CountStatus
	}
	if all.counts, err = statuses.Compile(); err != nil {
		return nil, config.ErrorIn("count_status", err)
	}
	all.wait = newWaits(cmp.Or(e.Wait, b.zone.Wait))
	for tier := range all.rules {
		var compiled *rule
		if rest != nil && b.ownLimit(e, tier) == nil {
			compiled = rest.rules[tier]
		} else if limit, enforcement := b.inherit(e, tier); limit != nil {
			compiled, err = b.shared(base, limit, enforcement, b.unitOf(e))
		}
		switch {
		case err != nil || compiled == nil:
		case all.late != nil:
			err = all.late.fits(compiled)
		default:
			err = all.cost.fits(compiled)
		}
		if err != nil {
			if tier != noTier {
				err = config.ErrorIn("tier", fmt.Errorf("tier %q: %w", b.tiers.names[tier], err))
			}
			return nil, err
		}
		all.rules[tier] = compiled
	}
	if all.inFlightID, err = b.inFlightID(path); err != nil {
		return nil, err
	}
	if all.concurrent, err = b.concurrent(e, path, base.ID); err != nil {
		return nil, err
	}
	all.withoutKey, err = b.ruleWithoutKey(e, all)
	return all, err
}

// base returns what rules have in common whose counts belong to one key template at one place of
// the zone. own is the algorithm there, or nil for that of the zone. The wait is that of the zone's count.
func (b *ruleBuilder) base(own *config.Algorithm, key, place string) (limiter.Rule, error) {
	algorithm, err := cmp.Or(own, b.zone.Algorithm, b.set.Defaults.Algorithm).Compile()
	if err != nil {
		return limiter.Rule{}, err
	}
	owner := []string{b.name, key, place, algorithm.Kind.String(), strconv.Itoa(algorithm.SubWindows), b.set.CountFormat}
	if b.compared {
		owner = append(owner, "compared")
	}
	id, err := b.set.ruleID(owner...)
	base := limiter.Rule{Zone: b.handle, ID: id, MaxKeys: b.maxKeys(), Algorithm: algorithm, MaxWait: b.longestWait()}
	return base.Settings(), err
}

// shared compiles a limit of a unit, unless there is an equal rule. base has what limit does not set.
func (b *ruleBuilder) shared(base limiter.Rule, limit *config.Limit, enforcement config.Enforcement, unit string) (*rule, error) {
	if err := enforcement.Apply(&base); err != nil {
		return nil, err
	}
	if b.compared {
		limit = withBurstFor(base.Algorithm, limit)
	}
	source := ruleSource{base, *limit}
	if r := cmp.Or(b.compiled[source], b.earlier[source]); r != nil {
		b.compiled[source] = r
		return r, nil
	}
	r, err := b.rule(base, limit, unit)
	if err == nil {
		r.compared = b.compared
		b.compiled[source] = r
	}
	return r, err
}

// rule compiles a limit of a unit. base has what limit does not set. It may be called concurrently.
func (b *ruleBuilder) rule(base limiter.Rule, limit *config.Limit, unit string) (*rule, error) {
	counted, err := b.counted(base, limit)
	if err != nil {
		return nil, err
	}
	r := &rule{Policy: response.NewPolicy(b.name, nil, limit), compiled: base, limit: *limit}
	if counted != nil {
		r.compiled = *counted
		r.Rule = &r.compiled
	}
	r.CountID, r.Unit = base.ID, unit
	return r, nil
}

// counted is like newCountedRule, and refuses what the store of the counts cannot count.
func (b *ruleBuilder) counted(base limiter.Rule, limit *config.Limit) (*limiter.Rule, error) {
	counted, err := newCountedRule(base, limit)
	if err == nil && counted != nil && b.set.Check != nil {
		err = b.set.Check(counted)
	}
	return counted, err
}

// ownLimit returns the limit that an endpoint itself sets for a tier, or nil.
func (b *ruleBuilder) ownLimit(e *config.Endpoint, tier int) *config.Limit {
	if tier == noTier {
		return e.Limit
	}
	return cmp.Or(e.Tiers[b.tiers.names[tier]].OwnLimit(), e.Limit)
}

// inherit returns what is in force for a tier at an endpoint. The limit is that of the endpoint for
// the tier, else of the endpoint, else of the zone for the tier, else of the zone. Enforcement is
// inherited along the same path, whichever place the limit is from.
func (b *ruleBuilder) inherit(e *config.Endpoint, tier int) (*config.Limit, config.Enforcement) {
	limit, enforcement := b.zone.Limit, b.zone.Enforcement.Or(b.set.Defaults.Enforcement)
	if tier != noTier {
		t := b.tiers.tiers[tier]
		limit, enforcement = &t.Limit, t.Enforcement.Or(enforcement)
	}
	limit, enforcement = cmp.Or(b.ownLimit(e, tier), limit), e.Enforcement.Or(enforcement)
	if tier != noTier {
		if t := e.Tiers[b.tiers.names[tier]]; t != nil {
			enforcement = t.Enforcement.Or(enforcement)
		}
	}
	return limit, enforcement
}
