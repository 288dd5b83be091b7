package zone

import (
	"context"
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/ipset"
	"github.com/fleetlimit/fleetlimit/rules"
)

// Doubts returns why a change of the limits of a key probably has no effect. counted reports whether
// requests with the key must have been counted before.
func (s *Snapshot) Doubts(ctx context.Context, store InspectedStore, key rules.Key, counted bool) []string {
	z := s.set.named(key.Zone)
	if z == nil {
		return nil
	}
	_, err := ipset.ParsePrefix(key.Text)
	if err == nil && !key.Missing && !z.countsAddresses(false) && z.countsAddresses(true) {
		return []string{fmt.Sprintf("the key is an address, but only requests without a key are counted by address in zone %q: "+
			"use \"missing\": true for those", z.Name)}
	}
	if !counted || s.hasCount(ctx, store, key) {
		return nil
	}
	return []string{"no request with this key was counted lately: look at `caddy rate-limit decisions` to see how requests have it"}
}

// hasCount reports whether the store may have counted a key.
func (s *Snapshot) hasCount(ctx context.Context, store InspectedStore, key rules.Key) bool {
	request := &adminapi.InspectRequest{Key: key.Text, Base64: key.Base64, Missing: key.Missing}
	found, err := s.Inspect(ctx, store, key.Zone, request)
	return err != nil || slices.ContainsFunc(found.Counts, func(c adminapi.InspectedCount) bool {
		return c.Count == nil || c.Count.Consumed > 0 // without a limit nothing is counted
	})
}
