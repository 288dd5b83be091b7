package fleetlimit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An inspector looks at a key.
type inspector struct {
	running *runningApp
	zone    *zone
	config  *config.Zone
	key     rules.Key
	keys    [][]byte // as requests have it
	now     time.Time
}

// Inspect implements adminapi.Configuration.
func (a *runningApp) Inspect(ctx context.Context, zone string, r *adminapi.InspectRequest) (*adminapi.Inspection, error) {
	z := a.schema.zone(zone)
	i := inspector{running: a, zone: z, config: a.definition(zone), now: time.Now()}
	ref := keyRef{rules.Key{Zone: zone, Text: r.Key, Base64: r.Base64, Missing: r.Missing}, r.Stored}
	keys, err := z.resolve(&ref)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	i.key, i.keys = ref.Key, keys
	tier, err := i.tier(r.Tier)
	if err != nil {
		return nil, fmt.Errorf("tier: %w", err)
	}
	answer := &adminapi.Inspection{
		Zone: zone, Key: i.key.Text, Base64: i.key.Base64, Stored: r.Stored, Missing: i.key.Missing,
		Version: a.inForce.version.Number, Access: i.access(), Tier: tier, Counts: []adminapi.InspectedCount{},
	}
	inForce := a.inForce.of(z)
	for place := range inForce.endpoints {
		if r.Endpoint == "" || inForce.endpoints[place].name() == r.Endpoint {
			answer.Counts = append(answer.Counts, i.counts(ctx, inForce, place, tier)...)
		}
	}
	return answer, nil
}

// is reports whether an entry of the rules is about the key.
func (i *inspector) is(k *rules.Key, e *rules.Entry) bool {
	if k == nil || k.Zone != i.zone.name || e.Expired(i.now) {
		return false
	}
	keys, err := i.zone.keysOf(k)
	return err == nil && slices.ContainsFunc(keys, func(key []byte) bool { return string(key) == string(i.keys[0]) })
}

// text returns the key as patterns see it.
func (i *inspector) text() string {
	text, _ := i.key.Bytes() // keysOf has checked it
	return string(text)
}

// access returns what allows or denies the key, whatever it consumes.
func (i *inspector) access() (by *adminapi.DecidedBy) {
	for _, a := range i.running.inForce.version.Document.Access {
		// Denials come first.
		if (by == nil || a.Action == rules.Deny) && i.is(a.Key, &a.Entry) {
			by = &adminapi.DecidedBy{Action: a.Action, Source: adminapi.FromRules, Entry: a.ID}
		}
	}
	switch text := i.text(); {
	case by != nil && by.Action == rules.Deny:
	case i.zone.deny.Match(text):
		return &adminapi.DecidedBy{Action: rules.Deny, Source: adminapi.FromConfiguration}
	case by == nil && i.zone.allow.Match(text):
		return &adminapi.DecidedBy{Action: rules.Allow, Source: adminapi.FromConfiguration}
	}
	return by
}

// tier returns the tier of the key. asked is what the placeholder of requests would give; "" is
// unknown.
func (i *inspector) tier(asked string) (*adminapi.DecidedBy, error) {
	f := i.zone.tiers
	switch {
	case f == nil && asked != "":
		return nil, fmt.Errorf("zone %q has no tiers: use a request without it", i.zone.name)
	case f == nil, i.key.Missing && i.zone.missing.limited:
		return nil, nil
	case asked != "":
		if _, err := f.named(asked); err != nil {
			return nil, err
		}
	}
	for _, a := range slices.Backward(i.running.inForce.version.Document.Tiers) {
		if i.is(&a.Key, &a.Entry) {
			return &adminapi.DecidedBy{Name: a.Tier, Source: adminapi.FromRules, Entry: a.ID}, nil
		}
	}
	if tier := f.ofPattern(i.text()); tier != noTier {
		return &adminapi.DecidedBy{Name: f.names[tier], Source: "keys"}, nil
	}
	switch {
	case asked != "":
		return &adminapi.DecidedBy{Name: asked, Source: "request"}, nil
	case f.fallback != noTier:
		return &adminapi.DecidedBy{Name: f.names[f.fallback], Source: "default"}, nil
	}
	return nil, nil
}

// counts returns the limits and the counts of the key at a place of the zone. There is usually one:
// a missing key may be made in several ways.
func (i *inspector) counts(ctx context.Context, inForce *zoneRules, place int, tier *adminapi.DecidedBy) (
	counts []adminapi.InspectedCount,
) {
	e, at, name := &inForce.endpoints[place], placement{endpoint: place, tier: noTier}, ""
	if tier != nil {
		at.tier, name = slices.Index(i.zone.tiers.names, tier.Name), tier.Name
	}
	from := i.origins(e, place, name)
	if i.key.Missing && i.zone.missing.limited {
		at.tier = withoutKey
		from = []adminapi.Origin{{Limit: i.config.OnMissingLimit.String(), Source: adminapi.FromConfiguration, Place: "missing key"}}
	}
	from = append(from, i.overrides("")...)
	if e.route != nil {
		from = append(from, i.overrides(e.name())...) // these come before those of the whole zone
	}
	for _, key := range i.keys {
		at.override = nil
		if entries := inForce.keys.Of(key); entries != nil {
			at.override = entries.overrideAt(i.now, place)
		}
		r := at.rule(inForce.endpoints)
		if r == nil {
			return nil
		}
		c := adminapi.InspectedCount{Endpoint: e.name(), Limit: r.limit.String(), From: from}
		if r.Rule != nil {
			i.count(ctx, &c, r.Rule, key)
		}
		counts = append(counts, c)
	}
	return counts
}

// origins returns where the limits of a tier at a place are from, without those of the key itself.
func (i *inspector) origins(e *endpointRules, place int, tier string) []adminapi.Origin {
	var configured *config.Endpoint
	if e.route != nil {
		configured = i.config.Endpoints[place]
	}
	changes := i.running.inForce.version.Document.Zones[i.zone.name]
	return originsOf(i.config, i.running.app.Tiers, changes, tier, configured, e.name())
}

// overrides returns those of the key at an endpoint, or of the whole zone.
func (i *inspector) overrides(endpoint string) (origins []adminapi.Origin) {
	for _, o := range i.running.inForce.version.Document.Overrides {
		if o.Endpoint == endpoint && i.is(&o.Key, &o.Entry) {
			origins = append(origins, adminapi.Origin{
				Limit: o.Limit, Multiplier: o.Multiplier, Source: adminapi.FromOverride, Place: "key", Override: o.ID,
			})
		}
	}
	return origins
}

// count asks the store for the count of a key.
func (i *inspector) count(ctx context.Context, c *adminapi.InspectedCount, r *limiter.Rule, key []byte) {
	found, err := i.running.app.store.Inspect(ctx, i.now, r, key)
	if err != nil {
		c.Error = err.Error()
	} else {
		c.Count = newCountState(&found.Count, i.now)
	}
	if found.Account != nil {
		c.Node = newNodeState(found.Account, i.now)
	}
}

func newCountState(c *limiter.CountState, now time.Time) *adminapi.CountState {
	return &adminapi.CountState{
		Limit: c.Limit, Remaining: c.Remaining, Consumed: c.Consumed, Leased: c.Leased,
		RetryAt: instantAt(c.RetryAt, c.At, now), ResetAt: instantAt(c.ResetAt, c.At, now),
		LeasedUntil: instantAt(c.LeasedUntil, c.At, now),
	}
}

func newNodeState(a *limiter.AccountState, now time.Time) *adminapi.NodeState {
	n := &adminapi.NodeState{
		Leases: []adminapi.NodeLease{}, Credit: a.Credit, Debt: a.Debt, DeniedUntil: timeIn(a.DeniedFor, now),
		DeniedCost: a.DeniedCost, Demand: a.Demand, Requesting: a.Requesting,
	}
	for _, l := range a.Leases {
		if expires := timeIn(l.Lasts, now); expires != nil {
			n.Leases = append(n.Leases, adminapi.NodeLease{Events: l.Events, ExpiresAt: *expires})
		}
	}
	return n
}

// instantAt returns i, by a clock that reads at, by the clock of this node, which reads now. It is
// nil if i has passed, or never comes.
func instantAt(i, at limiter.Instant, now time.Time) *time.Time {
	if i == limiter.Never {
		return nil
	}
	return timeIn(time.Duration(i-at)*time.Microsecond, now)
}

// timeIn returns the time when d has passed from now on; nil: it has passed already.
func timeIn(d time.Duration, now time.Time) *time.Time {
	if d <= 0 {
		return nil
	}
	t := now.Add(d).UTC().Truncate(time.Millisecond)
	return &t
}

// Zone implements adminapi.Configuration.
func (a *runningApp) Zone(name string) adminapi.Zone {
	z := a.schema.zone(name)
	i := inspector{running: a, zone: z, config: a.definition(z.name)}
	answer := adminapi.Zone{Name: z.name, Key: i.config.Key, Limits: []adminapi.EndpointLimits{}}
	inForce := a.inForce.of(z)
	for place := range inForce.endpoints {
		e := &inForce.endpoints[place]
		described := adminapi.EndpointLimits{Endpoint: e.name(), Tiers: []adminapi.TierLimit{}}
		for number, r := range e.rules {
			if r == nil {
				continue
			}
			tier := ""
			if number != noTier {
				tier = z.tiers.names[number]
			}
			described.Tiers = append(described.Tiers, adminapi.TierLimit{
				Tier: tier, Limit: r.limit.String(), Algorithm: algorithmText(r.base.Algorithm), From: i.origins(e, place, tier),
				Compared: inForce.compared.describe(place, number),
			})
		}
		if len(described.Tiers) > 0 {
			answer.Limits = append(answer.Limits, described)
		}
	}
	if share := i.config.DryRun; share > 0 {
		answer.DryRun = config.FormatPercent(float64(share))
	}
	if inForce.compared != nil {
		answer.Compare = config.FormatPercent(inForce.compared.fraction)
	}
	if changes := a.inForce.version.Document.Zones[z.name]; changes != nil && changes.DryRun != "" {
		answer.DryRun = changes.DryRun
	}
	return answer
}

// describe returns the rule at a place of the zone for a tier, or nil if there is none.
func (c *comparedRules) describe(place, tier int) *adminapi.ComparedLimit {
	if c == nil || c.endpoints[place].rules[tier] == nil {
		return nil
	}
	r := c.endpoints[place].rules[tier]
	return &adminapi.ComparedLimit{Limit: r.limit.String(), Algorithm: algorithmText(r.base.Algorithm)}
}

// algorithmText returns an algorithm in the syntax of the Caddyfile.
func algorithmText(a limiter.Algorithm) string {
	if a.SubWindows > 1 {
		return a.Kind.String() + " " + strconv.Itoa(a.SubWindows)
	}
	return a.Kind.String()
}

// originsOf returns the limits for a tier at an endpoint of a zone, those of wider places first.
// The last is in force. tier is "" and e nil outside of tiers and endpoints. name is that of the
// endpoint, and shared are the tiers of the app. settings are not in the syntax of caddy-ratelimit.
func originsOf(settings *config.Zone, shared map[string]*config.Tier, changes *rules.Zone, tier string, e *config.Endpoint, name string) (
	origins []adminapi.Origin,
) {
	if changes == nil {
		changes = new(rules.Zone)
	}
	add := func(place string, configured *config.Limit, written string) {
		switch {
		case written != "":
			origins = append(origins, adminapi.Origin{Limit: written, Source: adminapi.FromRules, Place: place})
		case configured != nil && *configured != (config.Limit{}):
			origins = append(origins, adminapi.Origin{Limit: configured.String(), Source: adminapi.FromConfiguration, Place: place})
		}
	}
	add("zone", settings.Limit, changes.Limit)
	if tier != "" {
		var own *config.Tier
		if settings.Tier != nil {
			own = settings.Tier.Tiers[tier]
		}
		if own.Limited() || changes.Tiers[tier] != "" {
			add("tier", limitOf(own), changes.Tiers[tier])
		} else {
			add("shared tier", limitOf(shared[tier]), "")
		}
	}
	if e == nil {
		return origins
	}
	changed := cmp.Or(changes.Endpoints[name], new(rules.Endpoint))
	add("endpoint", e.Limit, changed.Limit)
	if tier != "" {
		add("endpoint tier", limitOf(e.Tiers[tier]), changed.Tiers[tier])
	}
	return origins
}

// limitOf returns the limit of a tier, nil if it has none.
func limitOf(t *config.Tier) *config.Limit {
	if !t.Limited() {
		return nil
	}
	return &t.Limit
}
