package zone

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An inspector looks at a key.
type inspector struct {
	snapshot *Snapshot
	store    InspectedStore
	zone     *Zone
	config   *config.Zone
	key      rules.Key
	named    string                // as the request names an address, which may be one of many of its key
	keys     [][]byte              // as requests have it
	entries  map[*rules.Entry]bool // of the rules, that are about it
	now      time.Time
}

// An InspectedStore has the counts of keys.
type InspectedStore interface {
	Inspect(ctx context.Context, now time.Time, r *limiter.Rule, key []byte) (limiter.Inspection, error)
	InFlight(now time.Time, r *concurrency.Rule, key []byte) (requests, leased int64)
}

// Inspect returns what is known of a key of a zone.
func (s *Snapshot) Inspect(ctx context.Context, store InspectedStore, zone string, r *api.InspectRequest) (
	*api.Inspection, error,
) {
	z, inForce := s.rulesOf(zone)
	i := inspector{snapshot: s, store: store, zone: z, config: z.builder.zone, now: time.Now()}
	ref := KeyRef{r.In(zone), r.Stored}
	keys, err := z.resolve(&ref)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	i.key, i.named = z.canonical(ref.Key), ref.Text
	i.setKeys(keys)
	tier, err := i.tier(r.Tier)
	if err != nil {
		return nil, fmt.Errorf("tier: %w", err)
	}
	shown := api.ShownKey{Key: i.key.Text, Base64: i.key.Base64, Stored: r.Stored, Hash: i.hash(), Missing: i.key.Missing}
	answer := &api.Inspection{
		Zone: zone, ShownKey: shown, Version: s.Version.Number, Access: i.access(), Tier: tier, Counts: []api.InspectedCount{},
	}
	for s := range inForce.slotsOf(z, i.possibleTiers(tier)) {
		if r.Endpoint != "" && r.Endpoint != s.endpoint {
			continue
		}
		answer.Concurrent = append(answer.Concurrent, i.concurrent(inForce, s.at.endpoint, s.at.tier, r.Endpoint != "")...)
		if r.Endpoint != "" || s.own { // else it is charged to the count of the zone, which is listed by itself
			answer.Counts = append(answer.Counts, i.counts(ctx, inForce, s.at.endpoint, s.at.tier)...)
		}
	}
	return answer, nil
}

// setKeys says how requests have the key, and finds the entries about it.
func (i *inspector) setKeys(keys [][]byte) {
	i.keys, i.entries = keys, i.snapshot.rulesFor(i.zone).keys.find(keys[0]).entriesAt(i.now)
}

// text returns the key as patterns see it.
func (i *inspector) text() string {
	text, _ := i.key.Bytes() // keysOf has checked it
	return string(text)
}

// hash returns the hash of the key's text, "" if that is not known.
func (i *inspector) hash() string {
	if text := i.text(); text != "" {
		return keytemplate.Hash(text)
	}
	return ""
}

// access returns what allows or denies the key, whatever it consumes.
func (i *inspector) access() *api.DecidedBy {
	if by := i.accessByAddress(); by != nil {
		return by
	}
	return i.accessByKey()
}

// accessByKey returns what allows or denies the key in its zone.
func (i *inspector) accessByKey() *api.DecidedBy {
	isAbout := func(e *rules.AccessEntry) bool { return i.entries[&e.Entry] }
	return accessOf(i.snapshot.Version.Document.Access, isAbout, i.zone.deny.Match(i.text()), i.zone.allow.Match(i.text()))
}

// accessByAddress returns what allows or denies the client whose address is the key, before any zone.
func (i *inspector) accessByAddress() *api.DecidedBy {
	p, err := ipset.ParsePrefix(i.named)
	if err != nil || !i.zone.countsAddresses(i.key.Missing) {
		return nil
	}
	var lists []*Addresses
	for _, z := range i.snapshot.set.zonesCalled(i.zone.Name) {
		lists = append(lists, z.addresses)
	}
	return accessOfAddresses(p, i.snapshot.Version.Document.Access, i.now, lists...)
}

// counts returns the limits and the counts of the key at a place of the zone, if it has a tier.
// There is usually one: a missing key may be made in several ways.
func (i *inspector) counts(ctx context.Context, inForce *zoneRules, place, tier int) (counts []api.InspectedCount) {
	e, at, name := &inForce.endpoints[place], placement{endpoint: place, tier: tier}, i.zone.tiers.name(tier)
	from := append(i.origins(e, place, tier), i.overrides("")...)
	if e.route != nil {
		from = append(from, i.overrides(e.name())...) // these come before those of the whole zone
	}
	for _, key := range i.keys {
		at.findOverride(inForce, inForce.keys.find(key), i.now)
		r := at.rule(inForce.endpoints)
		if r == nil {
			return nil
		}
		c := api.InspectedCount{Endpoint: e.name(), Tier: name, Limit: r.limit.String(), From: from}
		if r.Rule != nil {
			i.count(ctx, &c, r.Rule, key)
		}
		counts = append(counts, c)
	}
	return counts
}

// overrides returns those of the key at an endpoint, or of the whole zone.
func (i *inspector) overrides(endpoint string) (origins []api.Origin) {
	for _, o := range i.snapshot.Version.Document.Overrides {
		if o.Endpoint == endpoint && (o.Limit != "" || o.Multiplier != 0) && i.entries[&o.Entry] {
			origins = append(origins, api.Origin{
				Limit: o.Limit, Multiplier: o.Multiplier, Source: api.FromOverride, Place: "key", Override: o.ID,
			})
		}
	}
	return origins
}

// count asks the store for the count of a key.
func (i *inspector) count(ctx context.Context, c *api.InspectedCount, r *limiter.Rule, key []byte) {
	found, err := i.store.Inspect(ctx, i.now, r, key)
	if err != nil {
		c.Error = err.Error()
	} else {
		c.Count = newCountState(&found.Count, i.now)
	}
	if found.Account != nil {
		c.Node = newNodeState(found.Account, i.now)
	}
}

func newCountState(c *limiter.CountState, now time.Time) *api.CountState {
	return &api.CountState{
		Limit: c.Limit, Remaining: c.Remaining, Consumed: c.Consumed, Leased: c.Leased,
		RetryAt: instantAt(c.RetryAt, c.At, now), ResetAt: instantAt(c.ResetAt, c.At, now),
		LeasedUntil: instantAt(c.LeasedUntil, c.At, now),
	}
}

func newNodeState(a *limiter.AccountState, now time.Time) *api.NodeState {
	n := &api.NodeState{
		Leases: []api.NodeLease{}, Debt: a.Debt, DeniedUntil: timeIn(a.DeniedFor, now),
		DeniedCost: a.DeniedCost, Demand: a.Demand, Requesting: a.Requesting,
	}
	for _, l := range a.Leases {
		if expires := timeIn(l.Lasts, now); expires != nil {
			n.Leases = append(n.Leases, api.NodeLease{Events: l.Events, ExpiresAt: *expires})
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

// timeIn returns the time when d has passed from now on, or nil if that is over.
func timeIn(d time.Duration, now time.Time) *time.Time {
	if d <= 0 {
		return nil
	}
	t := now.Add(d).UTC().Truncate(time.Millisecond)
	return &t
}
