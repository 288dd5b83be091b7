package evaluate

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// renew has a request that has waited until now decided by the rules in force, where those about
// its counts are others than when it came: a lowered limit applies to what waits, too. It reports
// false if they reject the request whatever is left, which is decided then.
func (e *Evaluation) renew(now time.Time) (goesOn bool) {
	app := e.handler.App
	if app.Newest != nil {
		app = app.Newest()
	}
	inForce := app.Rules()
	if inForce == e.rules || inForce == e.renewed {
		return true
	}
	e.renewed = inForce
	var blocked []int
	results, take := e.results(), 0
	for i := range results {
		r := &results[i]
		if i == 0 || results[i-1].Usage != r.Usage {
			if e.reread(app, r, inForce); e.reading.Refusal != nil {
				e.refused = refused{e.reading.Refusal, r.Zone, r.Template}
				return false
			}
		}
		if r.IsConcurrent() {
			continue
		}
		if e.renewTake(r, &e.takes[take]) {
			blocked = append(blocked, take)
		}
		take++
	}
	if len(blocked) == 0 {
		return true
	}
	e.blocked = true
	_ = e.takeFromStore(now) // a peek: what blocks the request needs no store
	for _, i := range blocked {
		k := &e.takes[i]
		until := k.Decision.At + limiter.Instant(response.BlockedFor/time.Microsecond)
		k.Err, k.Decision = nil, limiter.Decision{At: k.Decision.At, RetryAt: until, ResetAt: until}
	}
	return false
}

// reread reads the zone of a result once more, by other rules. If these do not limit the request,
// or would not reject it, the reading is empty, and the request keeps the limit that it waits for.
func (e *Evaluation) reread(app *App, r *response.Result, rules *zone.Snapshot) {
	found, zones := &e.reading, e.handler.Zones
	if app != e.handler.App {
		zones = app.Zones.All()
	}
	if i := slices.IndexFunc(zones, func(z *zone.Zone) bool { return z.Usage == r.Usage }); i >= 0 {
		if applies, err := zones[i].Read(&e.Request, rules, found); applies && err == nil && !found.DryRun {
			return
		}
	}
	*found = zone.Reading{Charges: found.Charges[:0], Concurrent: found.Concurrent[:0]}
}

// renewTake gives a take and its result the rule that limits their count now, if any does. It
// reports whether that blocks all requests.
func (e *Evaluation) renewTake(r *response.Result, k *limiter.Take) (blocks bool) {
	for i := range e.reading.Charges {
		c := &e.reading.Charges[i]
		switch {
		case c.Policy.CountID != r.Policy.CountID:
		case c.Policy.Block:
			blocks = true
		default:
			if cost := c.Cost - e.charged(e.reading.Zone, c.Policy.Rule, k.Key); cost > 0 {
				k.Cost, r.Cost, r.Reserves = cost, cost, c.Reserves
			}
			k.Rule, r.Policy = c.Policy.Rule, c.Policy
		}
	}
	return blocks
}
