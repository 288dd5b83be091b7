package gateway

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/internal/fleet/rulewatch"
	"github.com/fleetlimit/fleetlimit/internal/observe/journal"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// plan returns what a reload with a configuration would change, while the rules of a snapshot are
// in force. It returns an error if the configuration has a mistake, or if the store has failed.
func (a *App) plan(ctx context.Context, running *zone.Snapshot, text []byte) (*api.Plan, error) {
	planned, err := a.compile(text)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	inForce, left := planned.set.Compile(running.Version, nil, now)
	zones := planned.planFrom(a, inForce, running)
	if err := inspect.PlanKeys(ctx, a.store, usage.TopOf, running, inForce, planned.redis.MovedFrom(a.redis), zones); err != nil {
		return nil, fmt.Errorf("the store of the counts has failed: %w: use the same request again", err)
	}
	_, before := a.set.Compile(running.Version, nil, now)
	known := zone.LeftTexts(before)
	lost := slices.DeleteFunc(zone.LeftTexts(left), func(text string) bool { return slices.Contains(known, text) })
	if text := planned.ruleStore.LeftBehind(a.ruleStore, running.Version); text != "" {
		lost = append(lost, text)
	}
	resets := slices.ContainsFunc(zones, func(z api.PlannedZone) bool { return len(z.Reset) > 0 })
	return &api.Plan{Zones: zones, Rules: lost, Resets: resets}, nil
}

// compile compiles the zones of a configuration of Caddy in JSON as Provision does, but loads no
// matchers and acquires nothing. A zone that a has, too, gets the handle that it has in a.
func (a *App) compile(text []byte) (*App, error) {
	settings, found, err := config.Find(text)
	if err != nil {
		return nil, err
	}
	if err := a.checkProcessTexts(settings); err != nil {
		return nil, err
	}
	for _, h := range found {
		if err := a.checkProcessTexts(h.Handler); err != nil {
			return nil, atPlace(h.Place, err)
		}
	}
	planned := &App{App: *settings, logger: zap.NewNop()}
	if err := planned.Check(); err != nil {
		return nil, err
	}
	if err := planned.resolveRedis(); err != nil {
		return nil, err
	}
	// The storage of the planned configuration is not known without loading it. The storage of a
	// stands in for it.
	if planned.ruleStore, err = rulewatch.Resolve(planned.Rules, a.ctx.Storage(), planned.redis); err != nil {
		return nil, atPlace(cmp.Or(planned.Rules, new(config.RuleStore)).Place, fmt.Errorf("rules: %w", err))
	}
	planned.prepareSet()
	if err := planned.provisionZones(); err != nil {
		return nil, err
	}
	handles := make(map[string]limiter.Counts)
	for _, z := range a.set.All() {
		handles[z.Name] = z.Handle()
	}
	for _, h := range found {
		if err := h.Check(); err != nil {
			return nil, atPlace(h.Place, err)
		}
		if _, err := zone.NewAddresses(h.Allow, h.Deny); err != nil {
			return nil, atPlace(h.Place, err)
		}
		for _, name := range slices.Sorted(maps.Keys(h.Zones)) {
			if err := planned.compileZone(name, h.Zones[name], handles[name]); err != nil {
				return nil, errorInZone(name, h.Zones[name], err)
			}
		}
	}
	return planned, nil
}

// compileZone adds a zone of a handler to the zones of a, which is planned and serves no requests.
func (a *App) compileZone(name string, use *config.Zone, handle limiter.Counts) error {
	settings, err := a.Zones.DefinitionFor(name, use)
	if err != nil {
		return err
	}
	if err := a.define(name, settings, a.logger); err != nil {
		return err
	}
	z, err := a.set.New(name, settings, zone.Options{
		Usage: &usage.ZoneCounters{Name: name}, Handle: handle, Addresses: new(zone.Addresses),
	})
	if err != nil {
		return err
	}
	a.set.Add(z)
	return nil
}

// planFrom returns what changes in the zones if a replaces old. It leaves out zones that do not
// change.
func (a *App) planFrom(old *App, after, before *zone.Snapshot) []api.PlannedZone {
	sameShared := reflect.DeepEqual(old.Tiers, a.Tiers) && reflect.DeepEqual(old.DefaultSettings(), a.DefaultSettings())
	zones := inspect.Plan(before, after, a.redis.MovedFrom(old.redis))
	for i := range zones {
		if z := &zones[i]; z.Change == api.ZoneChanged {
			was, is := old.definition(z.Zone), a.definition(z.Zone)
			if !sameShared || !is.SameAs(was) { // quicker than their differences: most reloads change few zones
				z.Settings = old.plannedDefinition(was).Differences(a.plannedDefinition(is))
			}
			if z.DryRun != "" {
				z.Settings = append(z.Settings, "dry_run")
			}
		}
	}
	return slices.DeleteFunc(zones, func(z api.PlannedZone) bool {
		return z.Change == api.ZoneChanged && len(z.Settings)+len(z.Limits)+len(z.Reset)+len(z.Masked) == 0
	})
}

// plannedDefinition returns the definition of a zone for the fleet, with its mode and on_outage, in
// which nodes may differ. It returns nil if z is nil.
func (a *App) plannedDefinition(z *config.Zone) membership.Definition {
	definition := a.fleetDefinition(z)
	if definition != nil {
		e := z.Enforcement.Or(a.DefaultSettings().Enforcement).Or(config.DefaultEnforcement)
		definition["mode"], definition["on_outage"] = e.Mode, e.OnOutage
	}
	return definition
}

// logReload logs what changes in the zones because a reload has replaced the app old by a: a line
// for each zone that changes, and a warning for each zone whose keys start at their full limit,
// wholly or in part. It adds the lines to the journals of the zones.
func (a *App) logReload(old *App) {
	now := time.Now()
	for _, z := range a.planFrom(old, a.rulesInForce(), old.rulesInForce()) {
		limits := z.LimitTexts()
		if used := usage.Find(z.Zone); used != nil && z.Change != api.ZoneRemoved {
			used.Journal.AddReload(&journal.Reload{Time: now, Change: z.Change, Settings: z.Settings, Limits: limits, Reset: z.Reset})
		}
		a.logger.Info("the reload has "+z.Change+" a zone", zap.String("zone", z.Zone), zap.Strings("settings", z.Settings),
			zap.Strings("limits", limits), zap.String("dry_run", z.DryRun), zap.Strings("masked", z.Masked),
			zap.Strings("counts_reset", z.Reset))
	}
	was, is := old.rulesInForce().Version, a.rulesInForce().Version
	if text := a.ruleStore.LeftBehind(old.ruleStore, was); text != "" && was.Lineage != is.Lineage {
		a.logger.Warn("the reload has changed where rules are kept, and copies none", zap.Int64("version", was.Number),
			zap.String("not_in_force", text))
	}
	for _, z := range inspect.Dropped(&old.set, &a.set, a.redis.MovedFrom(old.redis)) {
		a.logger.Warn("the reload has dropped counts, so keys of the zone start at their full limit",
			zap.String("zone", z.Name), report.PlaceField(z.Place), zap.Strings("changed", z.Changed))
	}
}
