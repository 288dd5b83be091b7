package fleetlimit

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An inspectRequest is the body of POST /rate_limit/zones/{zone}/inspect.
type inspectRequest struct {
	Key      string `json:"key"`
	Base64   string `json:"key_base64"`
	Stored   string `json:"key_stored"`
	Missing  bool   `json:"missing"`
	Endpoint string `json:"endpoint"`
	Tier     string `json:"tier"` // that the placeholder of requests would give
}

const exampleInspect = `{"key": "sk_live_1"}`

// An inspector looks at a key.
type inspector struct {
	running *runningApp
	zone    *zone
	config  *Zone
	key     rules.Key
	keys    [][]byte // as requests have it
	now     time.Time
}

// postInspect answers POST /rate_limit/zones/{zone}/inspect.
func postInspect(w http.ResponseWriter, r *http.Request) error {
	var body inspectRequest
	if err := readJSON(w, r, &body, exampleInspect); err != nil {
		return err
	}
	running, err := runningRules()
	if err != nil {
		return err
	}
	z, err := running.zoneOf(r)
	if err != nil {
		return err
	}
	if err := checkEndpoint(running, z, body.Endpoint); err != nil {
		return err
	}
	i := inspector{running: running, zone: z, config: running.definition(z.name), now: time.Now()}
	ref := keyRef{rules.Key{Zone: z.name, Text: body.Key, Base64: body.Base64, Missing: body.Missing}, body.Stored}
	i.keys, err = z.resolve(&ref)
	if i.key = ref.Key; err != nil {
		return apiError(http.StatusBadRequest, "key: %w", err)
	}
	tier, err := i.tier(body.Tier)
	if err != nil {
		return err
	}
	answer := adminapi.Inspection{
		Zone: z.name, Key: i.key.Text, Base64: i.key.Base64, Stored: body.Stored, Missing: i.key.Missing,
		Version: running.inForce.version.Number, Access: i.access(), Tier: tier, Counts: []adminapi.InspectedCount{},
	}
	inForce := running.inForce.of(z)
	for place := range inForce.endpoints {
		if body.Endpoint == "" || inForce.endpoints[place].name() == body.Endpoint {
			answer.Counts = append(answer.Counts, i.counts(r.Context(), inForce, place, tier)...)
		}
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
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
		return nil, apiError(http.StatusBadRequest, "tier: zone %q has no tiers: use a request without it", i.zone.name)
	case f == nil, i.key.Missing && i.zone.missing.limited:
		return nil, nil
	case asked != "":
		if _, err := f.named(asked); err != nil {
			return nil, apiError(http.StatusBadRequest, "tier: %w", err)
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

// counts returns the limits and the counts of the key at a place of the zone. There is usually one: a
// missing key may be made in several ways.
func (i *inspector) counts(ctx context.Context, inForce *zoneRules, place int, tier *adminapi.DecidedBy) (
	counts []adminapi.InspectedCount,
) {
	e, number, name := &inForce.endpoints[place], noTier, ""
	if tier != nil {
		number, name = slices.Index(i.zone.tiers.names, tier.Name), tier.Name
	}
	own, from := e.rules[number], i.origins(e, place, name)
	if i.key.Missing && i.zone.missing.limited {
		own = e.withoutKey
		from = []adminapi.Origin{{Limit: i.config.OnMissingLimit.String(), Source: adminapi.FromConfiguration, Place: "missing key"}}
	}
	if own == nil {
		return nil
	}
	from = append(from, i.overrides("")...)
	if e.route != nil {
		from = append(from, i.overrides(e.name())...) // these come before those of the whole zone
	}
	for _, key := range i.keys {
		r := own
		if entries := inForce.keys.of(key); entries != nil {
			if override := entries.overrideAt(i.now, place); override != nil {
				r = override.of(own)
			}
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
	var configured *Endpoint
	if e.route != nil {
		configured = i.config.Endpoints[place]
	}
	changes := i.running.inForce.version.Document.Zones[i.zone.name]
	return originsOf(i.config, i.running.Tiers, changes, tier, configured, e.name())
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
	found, err := i.running.store.Inspect(ctx, i.now, r, key)
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

// instantAt returns i, by a clock that reads at, by the clock of this node, which reads now. It is nil
// if i has passed, or never comes.
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
