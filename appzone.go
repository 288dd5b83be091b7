package fleetlimit

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/spelling"
)

// isUse reports whether z, a zone of a handler, defines nothing: it uses the app's zone of that
// name.
func (z *Zone) isUse() bool { return z == nil || z.definition() == "{}" }

// zoneFor returns the definition of a handler's zone: config, or the app's zone if config uses
// that. The matchers, the dry run and the comparison of a use come in place of those in the definition.
func (a *App) zoneFor(name string, config *Zone) (*Zone, error) {
	if !config.isUse() {
		return config, nil
	}
	shared := a.Zones[name]
	if shared == nil {
		return nil, errors.New(a.undefinedZone(name))
	}
	used := *shared
	if config != nil {
		used.DryRun = cmp.Or(config.DryRun, used.DryRun)
		used.Compare = cmp.Or(config.Compare, used.Compare)
		if len(config.MatcherSetsRaw) > 0 {
			used.MatcherSetsRaw = config.MatcherSetsRaw
		}
	}
	return &used, nil
}

// undefinedZone describes the use of a zone that the app does not have.
func (a *App) undefinedZone(name string) string {
	other := ""
	if nearest := spelling.Nearest(name, slices.Collect(maps.Keys(a.Zones))); nearest != "" {
		other = "did you mean " + nearest + "? Or "
	}
	return "is not defined: " + other + "use a block with `key` and `limit`, which opens on the line of the name, here " +
		"or in the global option rate_limit"
}

// provisionZones checks the app's zones, whether handlers use them or not.
func (a *App) provisionZones() error {
	for _, name := range slices.Sorted(maps.Keys(a.Zones)) {
		config := a.Zones[name]
		if config.isUse() {
			return config.wrap(name, errors.New("is empty: use at least `key` and `limit`"))
		}
		z, err := newZone(name, config, a, nil)
		if err != nil {
			return config.wrap(name, err)
		}
		z.logWarnings(name, a.logger)
		if err := a.define(name, config, a.logger); err != nil {
			return config.wrap(name, err)
		}
	}
	return nil
}

// warnUnusedZones warns about zones of the app that limit nothing.
func (a *App) warnUnusedZones() {
	a.mu.Lock()
	defer a.mu.Unlock()
	used := make(map[string]bool)
	for _, z := range a.zones {
		used[z.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(a.Zones)) {
		if !used[name] {
			a.logger.Warn("no site uses the zone, so it limits nothing: use `zone "+name+"` in the rate_limit of a site",
				zap.String("zone", name), placeField(a.Zones[name].Place))
		}
	}
}

// wrap returns err with the name of the zone and its place.
func (z *Zone) wrap(name string, err error) error {
	err = fmt.Errorf("zone %q: %w", name, err)
	if z == nil {
		return err
	}
	return atPlace(z.Place, err)
}

// atPlace returns err with a place in a Caddyfile, as the errors of its parser have it.
func atPlace(place string, err error) error {
	if place == "" {
		return err
	}
	return fmt.Errorf("%w, at %s", err, place)
}

// placeField is a place in a Caddyfile for a log line.
func placeField(place string) zap.Field {
	if place == "" {
		return zap.Skip()
	}
	return zap.String("place", place)
}
