package zone

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/text/route"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// zoneRules are what requests read of the limits of a zone: those of the configuration, with what
// the rules in force change of them. They are immutable.
type zoneRules struct {
	endpoints []endpointRules // in configured order; the last is the rest of the zone
	keys      keyTable[keyEntries]
	dryRun    KeyShare
	compared  *comparedRules // nil if there is none

	overrides map[overrideText]*override
}

// A ruleSource is what a rule was compiled from.
type ruleSource struct {
	base  limiter.Rule
	limit config.Limit
}

// bySource returns the rules of all endpoints.
func (c *zoneRules) bySource() map[ruleSource]*rule {
	rules := make(map[ruleSource]*rule)
	endpoints := c.endpoints
	if c.compared != nil {
		endpoints = append(slices.Clip(endpoints), c.compared.endpoints...)
	}
	for i := range endpoints {
		for _, r := range endpoints[i].all() {
			rules[r.source()] = r
		}
	}
	return rules
}

// countedAt returns the index of the endpoint whose count a rule at place uses. It is the last, the
// rest of the zone, if the endpoint there has no limit of its own.
func (c *zoneRules) countedAt(place int, r *rule) int {
	if last := len(c.endpoints) - 1; r != nil && r.CountID == c.endpoints[last].id {
		return last
	}
	return place
}

// all returns the rules of e that are not nil.
func (e *endpointRules) all() (all []*rule) {
	for _, r := range append(slices.Clip(e.rules), e.withoutKey) {
		if r != nil {
			all = append(all, r)
		}
	}
	return all
}

// name returns the method and path of e, "" for the rest of the zone.
func (e *endpointRules) name() string {
	if e.route == nil {
		return ""
	}
	return e.route.String()
}

// compile returns the rules of z with the changes of an operator. What is equal in earlier stays
// the same in memory. The errors are about changes that are left out, because the configuration has
// become another one.
func (z *Zone) compile(earlier *zoneRules, changes *zoneChanges) (*zoneRules, []error) {
	b, left := z.builder.withChanges(earlier, changes.zone)
	endpoints, err := b.endpoints()
	if err != nil { // with has compiled them already
		return earlier, append(left, err)
	}
	compiled := &zoneRules{endpoints: endpoints, dryRun: z.dryRun}
	if changes.zone != nil && changes.zone.DryRun != "" {
		share, err := config.ParseShareOfKeys(changes.zone.DryRun)
		if err != nil {
			left = append(left, fmt.Errorf("dry_run: %w", err))
		} else {
			compiled.dryRun = NewKeyShare(share, b.name)
		}
	}
	if changes.zone != nil && changes.zone.Compare != nil {
		c := changes.zone.Compare
		with, err := config.ParseComparison(c.Keys, c.Limit, c.Algorithm)
		if err != nil {
			left = append(left, fmt.Errorf("compare: %w", err))
		} else {
			b.zone.Compare = with
		}
	}
	if compiled.compared, err = b.compare(compiled); err != nil {
		left = append(left, fmt.Errorf("compare: %w", err))
	}
	return compiled, append(left, compiled.setEntries(z, earlier, changes)...)
}

// withChanges returns a builder of the zone with the limits of changes, which may be nil, and the errors
// of those that the zone cannot have.
func (b *ruleBuilder) withChanges(earlier *zoneRules, changes *rules.ZoneChange) (changed *ruleBuilder, left []error) {
	limits := placedLimits(changes)
	changed = b.copy(earlier)
	for _, l := range limits {
		left = append(left, changed.put(l))
	}
	if left = nonNil(left); len(left) == 0 {
		if _, err := changed.endpoints(); err == nil {
			return changed.copy(earlier), nil
		}
	}
	// Some of the limits do not fit, so each is tried.
	changed, left = b.copy(earlier), nil
	for _, l := range limits {
		tried := changed.copy(earlier)
		err := tried.put(l)
		if err == nil {
			_, err = tried.endpoints()
		}
		if err != nil {
			left = append(left, fmt.Errorf("%s: %w", l, err))
			continue
		}
		changed = tried.copy(earlier)
	}
	return changed, left
}

func nonNil(errs []error) []error {
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// copy returns a builder of the same zone that can be changed. It uses compiled rules of earlier.
func (b *ruleBuilder) copy(earlier *zoneRules) *ruleBuilder {
	settings := *b.zone
	settings.Endpoints = slices.Clone(settings.Endpoints)
	c := &ruleBuilder{set: b.set, handle: b.handle, usage: b.usage, name: b.name, zone: &settings}
	if b.tiers != nil {
		tiers := *b.tiers
		tiers.tiers = slices.Clone(tiers.tiers)
		c.tiers = &tiers
	}
	if earlier != nil {
		c.earlier = earlier.bySource()
	}
	return c
}

// A placedLimit is a limit in place of that of an endpoint, of a tier, of a tier at an endpoint, or
// of the zone.
type placedLimit struct{ endpoint, tier, text string }

func (l placedLimit) String() string {
	where := []string{"limit"}
	if l.endpoint != "" {
		where = append(where, "of "+l.endpoint)
	}
	if l.tier != "" {
		where = append(where, "of tier "+l.tier)
	}
	return strings.Join(where, " ")
}

// placedLimits returns the limits of z, which may be nil.
func placedLimits(z *rules.ZoneChange) (limits []placedLimit) {
	if z == nil {
		return nil
	}
	add := func(endpoint, limit string, tiers map[string]string) {
		if limit != "" {
			limits = append(limits, placedLimit{endpoint, "", limit})
		}
		for _, tier := range slices.Sorted(maps.Keys(tiers)) {
			limits = append(limits, placedLimit{endpoint, tier, tiers[tier]})
		}
	}
	add("", z.Limit, z.Tiers)
	for _, endpoint := range slices.Sorted(maps.Keys(z.Endpoints)) {
		e := z.Endpoints[endpoint]
		add(endpoint, e.Limit, e.Tiers)
	}
	return limits
}

// put puts a limit into the zone.
func (b *ruleBuilder) put(l placedLimit) error {
	limit, err := config.ParseLimit(l.text)
	if err != nil {
		return err
	}
	tier := noTier
	if l.tier != "" {
		if b.tiers == nil {
			return errors.New("the zone has no tiers: use a limit without one")
		}
		if tier, err = b.tiers.named(l.tier); err != nil {
			return err
		}
	}
	switch {
	case l.endpoint == "" && tier == noTier:
		b.zone.Limit = limit
		return nil
	case l.endpoint == "":
		changed := *b.tiers.tiers[tier]
		changed.Limit = *limit
		b.tiers.tiers[tier] = &changed
		return nil
	}
	for i, e := range b.zone.Endpoints {
		if r, err := route.New(e.Methods, e.Path); err != nil || r.String() != l.endpoint {
			continue
		}
		changed := *e
		if tier == noTier {
			changed.Limit = limit
		} else {
			t := new(config.Tier)
			if configured := e.Tiers[l.tier]; configured != nil {
				*t = *configured
			}
			t.Limit = *limit
			changed.Tiers = maps.Clone(e.Tiers)
			if changed.Tiers == nil {
				changed.Tiers = make(map[string]*config.Tier)
			}
			changed.Tiers[l.tier] = t
		}
		b.zone.Endpoints[i] = &changed
		return nil
	}
	return fmt.Errorf("the zone has no endpoint %q", l.endpoint)
}
