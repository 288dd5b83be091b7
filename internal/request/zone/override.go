package zone

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An override is a change of rules. Equal overrides of a zone are one, which compiles each rule
// once, when the first request needs it: a zone may have many rules, and many overrides that are
// never used.
type override struct {
	builder    *ruleBuilder
	limit      *config.Limit // nil if there is a multiplier, or none
	multiplier float64       // of the limit; 0 if there is none
	concurrent int           // requests at once; 0 to leave that as it is without the override

	first atomic.Pointer[changedRule] // that was compiled: most overrides change one rule
	rules sync.Map                    // *rule -> *changedRule

	inFlight sync.Map // concurrency.Rule -> *response.Policy: see concurrentPolicy
}

// A changedRule is a rule, and the one that an override makes of it.
type changedRule struct{ from, to *rule }

// An overrideText is what an override was compiled from.
type overrideText struct {
	limit      string
	multiplier float64
	concurrent int
}

// override returns the override o of z, one of earlier or c if it is equal.
func (c *zoneRules) override(z *Zone, earlier *zoneRules, o *rules.Override) (keyOverride, error) {
	k := keyOverride{endpoint: -1}
	if o.Endpoint != "" {
		k.endpoint = slices.IndexFunc(c.endpoints, func(e endpointRules) bool { return e.name() == o.Endpoint })
		if k.endpoint < 0 {
			return k, fmt.Errorf("the zone has no endpoint %q", o.Endpoint)
		}
		if (o.Limit != "" || o.Multiplier != 0) && !slices.ContainsFunc(c.endpoints[k.endpoint].all(), func(r *rule) bool { return c.countedAt(k.endpoint, r) == k.endpoint }) {
			return k, fmt.Errorf("endpoint %s has no limit of its own: use the override without `endpoint`", o.Endpoint)
		}
	}
	text := overrideText{o.Limit, o.Multiplier, o.Concurrent}
	if k.override = c.overrides[text]; k.override != nil {
		return k, nil
	}
	if earlier != nil && earlier.sameRules(c) { // else it would keep rules that nobody uses
		k.override = earlier.overrides[text]
	}
	if k.override == nil {
		k.override = &override{builder: z.builder, multiplier: o.Multiplier, concurrent: o.Concurrent}
		if err := config.CheckConcurrent(o.Concurrent); err != nil {
			return k, err
		}
		switch {
		case o.Concurrent > 0 && o.Limit == "" && o.Multiplier == 0:
		case o.Limit == "" && !(o.Multiplier > 0): // NaN, too
			return k, fmt.Errorf("the multiplier is %v: use a limit, or a multiplier above 0", o.Multiplier)
		case o.Limit != "":
			var err error
			if k.limit, err = config.ParseLimit(o.Limit); err != nil {
				return k, err
			}
		}
	}
	c.overrides[text] = k.override
	return k, nil
}

// sameRules reports whether two zoneRules have the same rules.
func (c *zoneRules) sameRules(other *zoneRules) bool {
	return sameRules(c.endpoints, other.endpoints) && sameRules(c.compared.all(), other.compared.all())
}

func sameRules(a, b []endpointRules) bool {
	return slices.EqualFunc(a, b, func(a, b endpointRules) bool {
		return a.withoutKey == b.withoutKey && slices.Equal(a.rules, b.rules)
	})
}

// changesRate reports whether o changes limits of rates.
func (o *override) changesRate() bool { return o.limit != nil || o.multiplier != 0 }

// changesConcurrent reports whether o changes limits of requests at once.
func (o *override) changesConcurrent() bool { return o.concurrent > 0 }

// applyTo returns r with the override. It is r itself if r cannot have it.
func (o *override) applyTo(r *rule) *rule {
	if c := o.first.Load(); c != nil && c.from == r {
		return c.to
	}
	if c, found := o.rules.Load(r); found {
		return c.(*changedRule).to
	}
	changed, err := o.compile(r)
	if err != nil {
		changed = r
	}
	c, _ := o.rules.LoadOrStore(r, &changedRule{r, changed})
	o.first.CompareAndSwap(nil, c.(*changedRule))
	return c.(*changedRule).to
}

func (o *override) compile(r *rule) (*rule, error) {
	limit := o.limitOf(r)
	if r.compared {
		limit = withBurstFor(r.compiled.Algorithm, limit)
	}
	base := r.base()
	if r.Rule != nil {
		base.KeepFor = r.FullAfter() // the count goes on under r
	}
	return o.builder.rule(base, limit, r.Unit)
}

// limitOf returns the limit of r with the override, which may be too high.
func (o *override) limitOf(r *rule) *config.Limit {
	if o.limit != nil {
		return o.limit
	}
	return times(&r.limit, o.multiplier)
}

// times returns l with its events and burst multiplied by a positive number.
func times(l *config.Limit, multiplier float64) *config.Limit {
	times := *l
	times.Events, times.Burst = multiply(l.Events, multiplier), multiply(l.Burst, multiplier)
	return &times
}

// multiply returns n * multiplier rounded up, except that 0 stays 0. It is above limiter.MaxEvents
// if the product is.
func multiply(n int64, multiplier float64) int64 {
	product := float64(n) * multiplier
	rounded := math.Round(product)
	if product-rounded > 1e-9*product { // else it is a number like 1.1, which has no exact float64
		rounded++
	}
	return int64(min(rounded, 2*limiter.MaxEvents))
}

// An overrideChecker finds out which overrides the rules of a zone can have. What an override
// cannot change stays as it is.
type overrideChecker struct {
	builder *ruleBuilder
	rules   *zoneRules
	changed map[overridePlace][]placedRule
	checked map[keyOverride]checkedOverride
}

// A checkedOverride says why an override must not be written, and why a rule cannot have it that is
// in force already. Both are nil if all is well.
type checkedOverride struct{ refused, left error }

// An overridePlace is what an override changes.
type overridePlace struct {
	endpoint int  // -1: all
	limits   bool // else a multiplier is for them
}

// A placedRule is a rule with the endpoint that it is of.
type placedRule struct {
	*rule
	*endpointRules
}

func newOverrideChecker(b *ruleBuilder, c *zoneRules) *overrideChecker {
	return &overrideChecker{b, c, make(map[overridePlace][]placedRule), make(map[keyOverride]checkedOverride)}
}

// rulesOf returns the rules that an override changes, without those for which the result is the
// same.
func (c *overrideChecker) rulesOf(p overridePlace) []placedRule {
	all, known := c.changed[p]
	if known {
		return all
	}
	type decides struct {
		algorithm limiter.Algorithm
		cost      int64
		limit     config.Limit
	}
	seen := make(map[decides]bool)
	for i := range slices.Backward(c.rules.endpoints) { // errors are about the rest of the zone if they can be
		e := &c.rules.endpoints[i]
		if p.endpoint >= 0 && p.endpoint != i {
			continue
		}
		for _, r := range e.all() {
			if p.endpoint >= 0 && c.rules.countedAt(i, r) != i {
				continue
			}
			d := decides{algorithm: r.compiled.Algorithm, cost: e.cost.fixed}
			if !p.limits {
				d.limit = r.limit
			}
			if !seen[d] {
				seen[d] = true
				all = append(all, placedRule{r, e})
			}
		}
	}
	c.changed[p] = all
	return all
}

// check checks an override. Many keys may have the same one. It may be written if only some
// algorithms lack its burst, or if only some endpoints have a higher cost: it is meant for the
// others.
func (c *overrideChecker) check(k keyOverride) checkedOverride {
	if known, ok := c.checked[k]; ok {
		return known
	}
	if !k.changesRate() {
		return checkedOverride{}
	}
	var refused, partly, left error
	fits := false
	changed := c.rulesOf(overridePlace{k.endpoint, k.limit != nil})
	for _, r := range changed {
		counted, err := c.builder.counted(r.base(), k.limitOf(r.rule))
		if err != nil && k.limit == nil {
			err = fmt.Errorf("%v times %v: %w; or use another multiplier", r.limit.String(), k.multiplier, err)
		}
		switch {
		case err == nil && k.limit != nil:
			if err = r.cost.fits(&rule{Policy: response.Policy{Rule: counted}}); err == nil {
				fits = true
			}
			partly = cmp.Or(partly, r.errorAt(err))
		case err == nil:
			fits = true
		case errors.Is(err, errNoBurst):
			partly = cmp.Or(partly, r.errorAt(err))
			left = cmp.Or(left, r.errorAt(err))
		default:
			refused = cmp.Or(refused, r.errorAt(err))
			left = cmp.Or(left, r.errorAt(err))
		}
	}
	if !fits {
		refused = cmp.Or(refused, partly)
	}
	c.checked[k] = checkedOverride{refused, left}
	return c.checked[k]
}

// errorAt returns err with the endpoint.
func (r placedRule) errorAt(err error) error {
	if err == nil || r.name() == "" {
		return err
	}
	return fmt.Errorf("not at %s: %w", r.name(), err)
}

// Overrides implements rules.Schema.
func (s *Set) Overrides(name string, changes *rules.ZoneChange) func(*rules.Override) error {
	z := s.Named(name)
	if z == nil {
		return func(*rules.Override) error { return s.NoZone(name) }
	}
	inForce := &zoneRules{endpoints: z.configured.endpoints, overrides: make(map[overrideText]*override)}
	b, _ := z.builder.withChanges(z.configured, changes) // what is wrong with the limits is said at their place
	if endpoints, err := b.endpoints(); err == nil {
		inForce.endpoints = endpoints
	}
	checker := newOverrideChecker(z.builder, inForce)
	return func(o *rules.Override) error {
		k, err := inForce.override(z, nil, o)
		if err != nil {
			return err
		}
		return checker.check(k).refused
	}
}
