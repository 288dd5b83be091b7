package fleetlimit

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/fleetlimit/fleetlimit/internal/report"
)

// logDroppedCounts logs what a reload that has replaced the app old by a changes of the counts: one
// line for each zone whose keys start at their full limit, wholly or in part.
func (a *App) logDroppedCounts(old *App) {
	otherStore := ""
	if !old.redis.SameCounts(a.redis) {
		otherStore = fmt.Sprintf("store: %v is now %v", old.redis, a.redis)
	}
	for _, z := range a.set.Dropped(&old.set, otherStore) {
		a.logger.Warn("the reload has dropped counts, so keys of the zone start at their full limit",
			zap.String("zone", z.Name), report.PlaceField(z.Place), zap.Strings("changed", z.Changed))
	}
}
