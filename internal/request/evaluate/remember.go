package evaluate

import (
	"cmp"
	"slices"

	"github.com/fleetlimit/fleetlimit/internal/observe/recent"
	"github.com/fleetlimit/fleetlimit/internal/request/response"
)

// remember has the zone of a result remember it, if somebody wants to try another limit there. Under
// another limit, the request might not have waited. So what counts is when it has come.
func (e *Evaluation) remember(r *response.Result) {
	memory := &r.Usage.Recent
	if !memory.On() || r.IsConcurrent() {
		return
	}
	if i := slices.IndexFunc(e.keys, func(k zoneKey) bool { return k.zone == r.Usage }); i >= 0 {
		memory.Add(e.keys[i].key, recent.Decision{
			At: int64(cmp.Or(e.arrived, r.Decision.At)), Cost: max(1, r.Cost), Count: r.Policy.CountID, Place: r.Counters.Number,
		})
	}
}
