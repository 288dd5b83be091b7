package fleetlimit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An overrideChecker finds out which overrides the rules of a zone can have. What an override cannot
// change stays as it is.
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

// rulesOf returns the rules that an override changes, without those for which the result is the same.
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
			d := decides{algorithm: r.base.Algorithm, cost: e.cost.fixed}
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

// check checks an override. Many keys may have the same one. It may be written if only some algorithms
// lack its burst, or if only some endpoints have a higher cost: it is meant for the others.
func (c *overrideChecker) check(k keyOverride) checkedOverride {
	if known, ok := c.checked[k]; ok {
		return known
	}
	var refused, partly, left error
	fits := false
	changed := c.rulesOf(overridePlace{k.endpoint, k.limit != nil})
	for _, r := range changed {
		counted, err := c.builder.counted(r.base, k.limitOf(r.rule))
		if err != nil && k.limit == nil {
			err = fmt.Errorf("%v times %v: %w; or use another multiplier", r.limit.String(), k.multiplier, err)
		}
		switch {
		case err == nil && k.limit != nil:
			if err = r.cost.fits(&rule{Rule: counted}); err == nil {
				fits = true
			}
			partly = cmp.Or(partly, r.at(err))
		case err == nil:
			fits = true
		case errors.Is(err, errNoBurst):
			partly = cmp.Or(partly, r.at(err))
			left = cmp.Or(left, r.at(err))
		default:
			refused = cmp.Or(refused, r.at(err))
			left = cmp.Or(left, r.at(err))
		}
	}
	if !fits {
		refused = cmp.Or(refused, partly)
	}
	c.checked[k] = checkedOverride{refused, left}
	return c.checked[k]
}

// at returns err with the endpoint.
func (r placedRule) at(err error) error {
	if err == nil || r.name() == "" {
		return err
	}
	return fmt.Errorf("not at %s: %w", r.name(), err)
}

// Overrides implements rules.Schema.
func (s ruleSchema) Overrides(name string, changes *rules.Zone) func(*rules.Override) error {
	z := s.zone(name)
	if z == nil {
		return func(*rules.Override) error { return s.noZone(name) }
	}
	inForce := &zoneRules{endpoints: z.configured.endpoints, overrides: make(map[overrideText]*override)}
	b, _ := z.builder.with(z.configured, changes) // what is wrong with the limits is said at their place
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
