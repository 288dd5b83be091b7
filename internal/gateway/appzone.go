package gateway

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// provisionZones checks the app's zones, whether handlers use them or not.
func (a *App) provisionZones() error {
	for _, name := range slices.Sorted(maps.Keys(a.Zones)) {
		settings := a.Zones[name]
		if settings.IsUse() {
			return errorInZone(name, settings, errors.New("is empty: use at least `key` and `limit`"))
		}
		z, err := a.set.New(name, settings, zone.Options{})
		if err != nil {
			return errorInZone(name, settings, err)
		}
		logWarnings(a.logger, z, append(z.Warnings, settings.Warnings(&a.App)...))
		if err := a.define(name, settings, a.logger); err != nil {
			return errorInZone(name, settings, err)
		}
	}
	return nil
}

// warnUnusedZones warns about zones of the app that limit nothing.
func (a *App) warnUnusedZones() {
	used := make(map[string]bool)
	for _, z := range a.set.All() {
		used[z.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(a.Zones)) {
		if !used[name] {
			a.logger.Warn("no site uses the zone, so it limits nothing: use `zone "+name+"` in the rate_limit of a site",
				zap.String("zone", name), report.PlaceField(a.Zones[name].Place))
		}
	}
}

// CheckZone compiles a zone of a Caddyfile as Provision will, and returns its error.
func (a *App) CheckZone(name string, z *config.Zone) error {
	a.prepareSet()
	_, err := a.set.New(name, z, zone.Options{})
	return err
}

// errorInZone returns err with the name of a zone and its place.
func errorInZone(name string, z *config.Zone, err error) error {
	err = fmt.Errorf("zone %q: %w", name, err)
	if z == nil {
		return err
	}
	return atPlace(z.Place, err)
}

// atPlace returns err with a place in a Caddyfile, in the form of the errors of Caddy's parser.
func atPlace(place string, err error) error {
	if place == "" {
		return err
	}
	return fmt.Errorf("%w, at %s", err, place)
}

// logWarnings logs warnings about z.
func logWarnings(logger *zap.Logger, z *zone.Zone, warnings []error) {
	for _, warning := range warnings {
		logger.Warn("the zone is probably not what was meant", zap.String("zone", z.Name), report.PlaceField(z.Place),
			zap.Error(warning))
	}
	if z.Memory != "" {
		logger.Info("the memory of the zone is bounded", zap.String("zone", z.Name), report.PlaceField(z.Place), zap.String("bound", z.Memory))
	}
}
