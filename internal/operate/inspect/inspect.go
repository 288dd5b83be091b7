// Package inspect answers what operators ask of zones.
//
// [zone.Snapshot.Slots] is the table of what may have limits: endpoints, each with its tiers. An
// answer is a selection of its slots: the limits of a zone, those of a key with its counts, what a
// reload changes. The package reads counts from a [Store], and changes none.
package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An inspector looks at a key.
type inspector struct {
	snapshot *zone.Snapshot
	store    Store
	zone     *zone.Zone
	key      rules.Key
	named    string                // as the request names an address, which may be one of many of its key
	keys     [][]byte              // as requests have it
	entries  map[*rules.Entry]bool // of the rules, that are about it
	now      time.Time
}

// A Store has the counts of keys.
type Store interface {
	Inspect(ctx context.Context, now time.Time, r *limiter.Rule, key []byte) (limiter.Inspection, error)
	InFlight(now time.Time, r *concurrency.Rule, key []byte) (requests, leased int64)
}

// Key returns what is known of a key of a zone, which exists.
func Key(ctx context.Context, s *zone.Snapshot, store Store, name string, r *api.InspectRequest) (*api.Inspection, error) {
	i := inspector{snapshot: s, store: store, zone: s.Set().Named(name), now: time.Now()}
	ref := KeyRef{r.In(name), r.Stored}
	keys, err := ref.resolve(i.zone)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	i.key, i.named = s.Set().Canonical(ref.Key), ref.Text
	i.setKeys(keys)
	tier, err := i.tier(r.Tier)
	if err != nil {
		return nil, fmt.Errorf("tier: %w", err)
	}
	shown := api.ShownKey{Key: i.key.Text, Base64: i.key.Base64, Stored: r.Stored, Hash: i.hash(), Missing: i.key.Missing}
	answer := &api.Inspection{
		Zone: name, ShownKey: shown, Version: s.Version.Number, Access: i.access(), Tier: tier, Counts: []api.InspectedCount{},
	}
	for _, s := range i.slots(tier) {
		if r.Endpoint != "" && r.Endpoint != s.Endpoint {
			continue
		}
		answer.Concurrent = append(answer.Concurrent, i.concurrent(&s, r.Endpoint != "")...)
		if r.Endpoint != "" || s.Own { // else it is charged to the count of the zone, which is listed by itself
			answer.Counts = append(answer.Counts, i.counts(ctx, &s)...)
		}
	}
	return answer, nil
}

// setKeys says how requests have the key, and finds the entries about it.
func (i *inspector) setKeys(keys [][]byte) {
	i.keys, i.entries = keys, i.snapshot.EntriesAbout(i.zone, keys[0], i.now)
}

// text returns the key as patterns see it.
func (i *inspector) text() string {
	text, _ := i.key.Bytes() // KeysOf has checked it
	return string(text)
}

// hash returns the hash of the key's text, "" if that is not known.
func (i *inspector) hash() string {
	if text := i.text(); text != "" {
		return keytemplate.Hash(text)
	}
	return ""
}

// counts returns the limits and the counts of the key in a slot. There is usually one: a missing
// key may be made in several ways.
func (i *inspector) counts(ctx context.Context, s *zone.Slot) (counts []api.InspectedCount) {
	from := append(i.origins(s), i.overrides("")...)
	if s.Endpoint != "" {
		from = append(from, i.overrides(s.Endpoint)...) // these come before those of the whole zone
	}
	for _, key := range i.keys {
		limit := s.LimitFor(key, i.now)
		if limit == nil {
			return nil
		}
		c := api.InspectedCount{Endpoint: s.Endpoint, Tier: s.Tier, Limit: limit.LimitText(), From: from}
		if limit.Rule != nil {
			i.count(ctx, &c, limit.Rule, key)
		}
		counts = append(counts, c)
	}
	return counts
}

// concurrent returns how many requests of the key are in flight in a slot. What counts in the rest
// of the zone is listed there, unless all is wanted.
func (i *inspector) concurrent(s *zone.Slot, all bool) (counts []api.InspectedConcurrent) {
	for _, key := range i.keys {
		policy, by := s.ConcurrentFor(key, i.now)
		if policy == nil || !all && s.CountsInRest(policy) {
			continue
		}
		c := api.InspectedConcurrent{Endpoint: s.Endpoint, Tier: s.Tier, Limit: policy.Concurrent.Limit}
		if by != nil {
			c.Override = by.ID
		}
		c.InFlight, c.Leased = i.store.InFlight(i.now, policy.Concurrent, key)
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
