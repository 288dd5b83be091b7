package fleetlimit

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An override is a change of rules. Equal overrides of a zone are one, which compiles each rule once,
// when the first request needs it: a zone may have many rules, and many overrides that are never
// used.
type override struct {
	builder    *ruleBuilder
	limit      *config.Limit // nil: there is a multiplier
	multiplier float64       // of the limit

	first atomic.Pointer[changedRule] // that was compiled: most overrides change one rule
	rules sync.Map                    // *rule -> *changedRule
}

// A changedRule is a rule, and the one that an override makes of it.
type changedRule struct{ from, to *rule }

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

// of returns r with the override. It is r itself if r cannot have it.
func (o *override) of(r *rule) *rule {
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
		limit = withBurstFor(r.base.Algorithm, limit)
	}
	return o.builder.rule(r.base, limit)
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

// multiply returns n * multiplier rounded up, except that 0 stays 0. It is above limiter.MaxEvents if
// the product is.
func multiply(n int64, multiplier float64) int64 {
	product := float64(n) * multiplier
	rounded := math.Round(product)
	if product-rounded > 1e-9*product { // else it is a number like 1.1, which has no exact float64
		rounded++
	}
	if n > 0 {
		rounded = max(1, rounded)
	}
	return int64(min(rounded, 2*limiter.MaxEvents))
}
