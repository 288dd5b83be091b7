package fleetlimit

import (
	"context"
	"fmt"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/ipset"
	"github.com/fleetlimit/fleetlimit/rules"
)

// Doubts implements adminapi.Configuration.
func (a *runningApp) Doubts(ctx context.Context, key rules.Key, counted bool) []string {
	z := a.schema.zone(key.Zone)
	if z == nil {
		return nil
	}
	_, err := ipset.ParsePrefix(key.Text)
	if err == nil && !key.Missing && !z.countsAddresses(false) && z.countsAddresses(true) {
		return []string{fmt.Sprintf("the key is an address, but only requests without a key are counted by address in zone %q: "+
			"use \"missing\": true for those", z.name)}
	}
	if !counted || a.hasCount(ctx, key) {
		return nil
	}
	return []string{"no request with this key was counted lately: look at `caddy rate-limit decisions` to see how requests have it"}
}

// hasCount reports whether the store may have counted a key.
func (a *runningApp) hasCount(ctx context.Context, key rules.Key) bool {
	found, err := a.Inspect(ctx, key.Zone, &adminapi.InspectRequest{Key: key.Text, Base64: key.Base64, Missing: key.Missing})
	return err != nil || slices.ContainsFunc(found.Counts, func(c adminapi.InspectedCount) bool {
		return c.Count == nil || c.Count.Consumed > 0 // without a limit nothing is counted
	})
}
