package fleetlimit

import (
	"context"
	"net/http"
	"slices"
	"time"

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

// An inspection is what is known of a key.
type inspection struct {
	Zone    string           `json:"zone"`
	Key     string           `json:"key,omitempty"`
	Base64  string           `json:"key_base64,omitempty"`
	Stored  string           `json:"key_stored,omitempty"`
	Missing bool             `json:"missing,omitempty"`
	Version int64            `json:"version"` // of the rules
	Access  *decidedBy       `json:"access,omitempty"`
	Tier    *decidedBy       `json:"tier,omitempty"`
	Counts  []inspectedCount `json:"counts"`
}

// A decidedBy is what decides something about a key.
type decidedBy struct {
	Action string `json:"action,omitempty"` // allow or deny
	Name   string `json:"name,omitempty"`   // of a tier

	// Source is rules, with the ID of the entry; configuration; or for tiers keys (a pattern of the
	// configuration), request (what the request to the admin API says) or default.
	Source string `json:"source"`
	Entry  string `json:"entry,omitempty"`
}

// An inspectedCount is the limit and the count of a key at an endpoint, or in the rest of the zone.
type inspectedCount struct {
	Endpoint string      `json:"endpoint,omitempty"`
	Limit    string      `json:"limit"` // in force
	From     []origin    `json:"from"`  // the last is in force
	Count    *countState `json:"count,omitempty"`
	Node     *nodeState  `json:"node,omitempty"`
	Error    string      `json:"error,omitempty"` // why there is no count
}

// A countState is what the store has.
type countState struct {
	Limit       int64      `json:"limit"`
	Remaining   int64      `json:"remaining"`
	Consumed    int64      `json:"consumed"`
	RetryAt     *time.Time `json:"retry_at,omitempty"` // nil: now
	ResetAt     *time.Time `json:"reset_at,omitempty"` // nil: now
	Leased      int64      `json:"leased,omitempty"`
	LeasedUntil *time.Time `json:"leased_until,omitempty"`
}

// A nodeState is what this node knows and holds.
type nodeState struct {
	Leases      []nodeLease `json:"leases"`
	Credit      int64       `json:"credit"`
	Debt        int64       `json:"debt"`
	DeniedUntil *time.Time  `json:"denied_until,omitempty"`
	DeniedCost  int64       `json:"denied_cost,omitempty"`
	Demand      float64     `json:"demand_per_second"`
	Requesting  bool        `json:"requesting"`
}

type nodeLease struct {
	Events    int64     `json:"events"`
	ExpiresAt time.Time `json:"expires_at"`
}

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
	answer := inspection{
		Zone: z.name, Key: i.key.Text, Base64: i.key.Base64, Stored: body.Stored, Missing: i.key.Missing,
		Version: running.inForce.version.Number, Access: i.access(), Tier: tier, Counts: []inspectedCount{},
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
func (i *inspector) access() (by *decidedBy) {
	for _, a := range i.running.inForce.version.Document.Access {
		// Denials come first.
		if (by == nil || a.Action == rules.Deny) && i.is(a.Key, &a.Entry) {
			by = &decidedBy{Action: a.Action, Source: fromRules, Entry: a.ID}
		}
	}
	switch text := i.text(); {
	case by != nil && by.Action == rules.Deny:
	case i.zone.deny.Match(text):
		return &decidedBy{Action: rules.Deny, Source: fromConfiguration}
	case by == nil && i.zone.allow.Match(text):
		return &decidedBy{Action: rules.Allow, Source: fromConfiguration}
	}
	return by
}

// tier returns the tier of the key. asked is what the placeholder of requests would give; "" is
// unknown.
func (i *inspector) tier(asked string) (*decidedBy, error) {
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
			return &decidedBy{Name: a.Tier, Source: fromRules, Entry: a.ID}, nil
		}
	}
	for _, g := range f.globs {
		if g.globs.Match(i.text()) {
			return &decidedBy{Name: f.names[g.tier], Source: "keys"}, nil
		}
	}
	switch {
	case asked != "":
		return &decidedBy{Name: asked, Source: "request"}, nil
	case f.fallback != noTier:
		return &decidedBy{Name: f.names[f.fallback], Source: "default"}, nil
	}
	return nil, nil
}

// counts returns the limits and the counts of the key at a place of the zone. There is usually one: a
// missing key may be made in several ways.
func (i *inspector) counts(ctx context.Context, inForce *zoneRules, place int, tier *decidedBy) (counts []inspectedCount) {
	e, number, name := &inForce.endpoints[place], noTier, ""
	if tier != nil {
		number, name = slices.Index(i.zone.tiers.names, tier.Name), tier.Name
	}
	own, from := e.rules[number], i.origins(e, place, name)
	if i.key.Missing && i.zone.missing.limited {
		own = e.withoutKey
		from = []origin{{Limit: i.config.OnMissingLimit.String(), Source: fromConfiguration, Place: "missing key"}}
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
		c := inspectedCount{Endpoint: e.name(), Limit: r.limit.String(), From: from}
		if r.Rule != nil {
			i.count(ctx, &c, r.Rule, key)
		}
		counts = append(counts, c)
	}
	return counts
}

// origins returns where the limits of a tier at a place are from, without those of the key itself.
func (i *inspector) origins(e *endpointRules, place int, tier string) []origin {
	var configured *Endpoint
	if e.route != nil {
		configured = i.config.Endpoints[place]
	}
	changes := i.running.inForce.version.Document.Zones[i.zone.name]
	return originsOf(i.config, i.running.Tiers, changes, tier, configured, e.name())
}

// overrides returns those of the key at an endpoint, or of the whole zone.
func (i *inspector) overrides(endpoint string) (origins []origin) {
	for _, o := range i.running.inForce.version.Document.Overrides {
		if o.Endpoint == endpoint && i.is(&o.Key, &o.Entry) {
			origins = append(origins, origin{
				Limit: o.Limit, Multiplier: o.Multiplier, Source: fromOverride, Place: "key", Override: o.ID,
			})
		}
	}
	return origins
}

// count asks the store for the count of a key.
func (i *inspector) count(ctx context.Context, c *inspectedCount, r *limiter.Rule, key []byte) {
	store := i.running.store
	found, err := store.Store.(limiter.Operator).Inspect(ctx, store.instant(i.now), r, key)
	if err != nil {
		c.Error = err.Error()
	} else {
		c.Count = newCountState(&found.Count, i.now)
	}
	if found.Account != nil {
		c.Node = newNodeState(found.Account, i.now)
	}
}

func newCountState(c *limiter.CountState, now time.Time) *countState {
	return &countState{
		Limit: c.Limit, Remaining: c.Remaining, Consumed: c.Consumed, Leased: c.Leased,
		RetryAt: instantAt(c.RetryAt, c.At, now), ResetAt: instantAt(c.ResetAt, c.At, now),
		LeasedUntil: instantAt(c.LeasedUntil, c.At, now),
	}
}

func newNodeState(a *limiter.AccountState, now time.Time) *nodeState {
	n := &nodeState{
		Leases: []nodeLease{}, Credit: a.Credit, Debt: a.Debt, DeniedUntil: instantAt(a.DeniedUntil, a.At, now),
		DeniedCost: a.DeniedCost, Demand: a.Demand, Requesting: a.Requesting,
	}
	for _, l := range a.Leases {
		if expires := instantAt(l.Expires, a.At, now); expires != nil {
			n.Leases = append(n.Leases, nodeLease{l.Events, *expires})
		}
	}
	return n
}

// instantAt returns i, by a clock that reads at, by the clock of this node, which reads now. It is nil
// if i has passed, or never comes.
func instantAt(i, at limiter.Instant, now time.Time) *time.Time {
	if i <= at || i == limiter.Never {
		return nil
	}
	t := now.Add(time.Duration(i-at) * time.Microsecond).UTC().Truncate(time.Millisecond)
	return &t
}
