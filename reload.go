package fleetlimit

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/report"
)

// logReload logs what a reload that has replaced the app old by a changes of the zones: a line for
// each zone that changes, and a warning for each whose keys start at their full limit, wholly or in
// part.
func (a *App) logReload(old *App) {
	for _, z := range a.planFrom(old, a.rulesInForce(), old.rulesInForce()) {
		a.logger.Info("the reload has "+z.Change+" a zone", zap.String("zone", z.Zone), zap.Strings("settings", z.Settings),
			zap.Strings("limits", limitTexts(z.Limits)), zap.Strings("counts_reset", z.Reset))
	}
	for _, z := range a.set.Dropped(&old.set, a.otherStore(old)) {
		a.logger.Warn("the reload has dropped counts, so keys of the zone start at their full limit",
			zap.String("zone", z.Name), report.PlaceField(z.Place), zap.Strings("changed", z.Changed))
	}
}

// otherStore says how the store of the counts of a is another than that of old; "": it is not.
func (a *App) otherStore(old *App) string {
	if old.redis.SameCounts(a.redis) {
		return ""
	}
	return fmt.Sprintf("store: %v is now %v", old.redis, a.redis)
}

// limitTexts says which limits change, and how.
func limitTexts(limits []adminapi.PlannedLimit) (texts []string) {
	for i := range limits {
		texts = append(texts, limits[i].String())
	}
	return texts
}
