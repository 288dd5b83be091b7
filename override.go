package fleetlimit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An override is a change of rules. Equal overrides of a zone are one, which compiles each rule once,
// when the first request needs it: a zone may have many rules, and many overrides that are never
// used.
type override struct {
	builder    *ruleBuilder
	limit      *Limit  // nil: there is a multiplier
	multiplier float64 // of the limit

	rules sync.Map // *rule -> *rule with the override
}

// An overrideText is what an override was compiled from.
type overrideText struct {
	limit      string
	multiplier float64
}

// override returns the override o of z, one of earlier or c if it is equal.
func (c *zoneRules) override(z *zone, earlier *zoneRules, o *rules.Override) (keyOverride, error) {
	k := keyOverride{endpoint: -1}
	if o.Endpoint != "" {
		k.endpoint = slices.IndexFunc(c.endpoints, func(e endpointRules) bool { return e.name() == o.Endpoint })
		if k.endpoint < 0 {
			return k, fmt.Errorf("the zone has no endpoint %q", o.Endpoint)
		}
	}
	text := overrideText{o.Limit, o.Multiplier}
	if k.override = c.overrides[text]; k.override != nil {
		return k, nil
	}
	if earlier != nil && earlier.sameRules(c) { // else it would keep rules that nobody uses
		k.override = earlier.overrides[text]
	}
	if k.override == nil {
		k.override = &override{builder: z.builder, multiplier: o.Multiplier}
		switch {
		case o.Limit == "" && !(o.Multiplier > 0): // NaN, too
			return k, fmt.Errorf("the multiplier is %v: use a limit, or a multiplier above 0", o.Multiplier)
		case o.Limit != "":
			var err error
			if k.limit, err = parseRate(strings.Fields(o.Limit)); err != nil {
				return k, err
			}
		}
	}
	c.overrides[text] = k.override
	return k, nil
}

// unfit returns why an endpoint of the zone cannot have the override, which leaves that as it is.
// Only a burst, which not all algorithms have, is looked at: to compile all overrides takes long.
func (k *keyOverride) unfit(c *zoneRules) error {
	if k.limit == nil || k.limit.Burst == 0 {
		return nil
	}
	for i := range c.endpoints {
		e := &c.endpoints[i]
		if k.endpoint >= 0 && k.endpoint != i || len(e.all()) == 0 {
			continue
		}
		if _, err := k.compile(e.all()[0]); err != nil { // all of an endpoint have its algorithm
			if e.name() == "" {
				return err
			}
			return fmt.Errorf("not at %s: %w", e.name(), err)
		}
	}
	return nil
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

// of returns r with the override. It is r itself if r cannot have it.
func (o *override) of(r *rule) *rule {
	if changed, found := o.rules.Load(r); found {
		return changed.(*rule)
	}
	changed, err := o.compile(r)
	if err != nil {
		changed = r
	}
	first, _ := o.rules.LoadOrStore(r, changed)
	return first.(*rule)
}

func (o *override) compile(r *rule) (*rule, error) {
	limit := o.limit
	if limit == nil {
		limit = r.limit.times(o.multiplier)
	}
	if r.compared {
		limit = limit.withBurstFor(r.base.Algorithm)
	}
	return o.builder.rule(r.base, limit)
}

// times returns l with its events and burst multiplied by a positive number.
func (l *Limit) times(multiplier float64) *Limit {
	times := *l
	times.Events, times.Burst = multiply(l.Events, multiplier), multiply(l.Burst, multiplier)
	return &times
}

// multiply returns n * multiplier rounded up, at most limiter.MaxEvents, except that 0 stays 0.
func multiply(n int64, multiplier float64) int64 {
	product := float64(n) * multiplier
	rounded := math.Round(product)
	if product-rounded > 1e-9*product { // else it is a number like 1.1, which has no exact float64
		rounded++
	}
	if n > 0 {
		rounded = max(1, rounded)
	}
	return int64(min(rounded, limiter.MaxEvents))
}
