package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// slowest is the window of a limit under which hardly anything comes back.
const slowest = 1000 * time.Hour

// Warnings returns why a change of the limits of a key probably has no effect. counted reports
// whether requests with the key must have been counted before.
func Warnings(ctx context.Context, s *zone.Snapshot, store Store, key rules.Key, counted bool) []string {
	z := s.Set().Named(key.Zone)
	if z == nil {
		return nil
	}
	_, err := ipset.ParsePrefix(key.Text)
	if err == nil && !key.Missing && !countsAddresses(z, false) && countsAddresses(z, true) {
		return []string{fmt.Sprintf("the key is an address, but only requests without a key are counted by address in zone %q: "+
			"use \"missing\": true for those", z.Name)}
	}
	if !counted || hasCount(ctx, s, store, key) {
		return nil
	}
	return []string{"no request with this key was counted lately: look at `caddy rate-limit decisions` to see how requests have it"}
}

// hasCount reports whether the store may have counted a key.
func hasCount(ctx context.Context, s *zone.Snapshot, store Store, key rules.Key) bool {
	request := new(api.InspectRequest)
	request.Key, request.Base64, request.Missing = key.Text, key.Base64, key.Missing
	found, err := Key(ctx, s, store, key.Zone, request)
	if err != nil || slices.ContainsFunc(found.Counts, func(c api.InspectedCount) bool {
		return c.Count == nil || c.Count.Consumed > 0 // without a limit nothing is counted
	}) {
		return true
	}
	counts, err := CountsOf(s, &KeyRef{Key: key}, "")
	return err != nil || slices.ContainsFunc(counts, func(c KeyCount) bool { return hasBucket(ctx, store, c) })
}

// hasBucket reports whether the store has a bucket, also if it is full under the limit in force. It
// may have been full only since that limit came: under one that hardly refills, it lacks what it
// lacked after the last request.
func hasBucket(ctx context.Context, store Store, c KeyCount) bool {
	if c.Rule.Algorithm.Kind != limiter.TokenBucket {
		return false
	}
	slow := *c.Rule
	slow.Limit = limiter.Limit{Events: 1, Window: slowest}
	r, err := limiter.NewRule(slow)
	if err != nil {
		return false
	}
	found, err := store.Inspect(ctx, time.Now(), r, c.Key)
	return err != nil || found.Account != nil || found.Count.Consumed > 0
}
