package evaluate

import (
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// renew has a request that has waited until now decided by the rules that are in force now, so that a lowered
// limit applies to waiting requests, too. It returns false if these rules refuse or block the request,
// whatever is left of its limits: the request is then decided.
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
	var blocking []*check
	for i := range e.checks {
		c := &e.checks[i]
		if i == 0 || e.checks[i-1].zone != c.zone {
			if e.reread(app, c.zone, inForce); e.reading.Refusal != nil {
				e.refused = refused{e.reading.Refusal, c.result.ZoneResponses, c.result.Template}
				return false
			}
		}
		if !c.result.IsConcurrent() && e.renewCheck(c) {
			blocking = append(blocking, c)
		}
	}
	if len(blocking) == 0 {
		return true
	}
	e.blocked = true
	_ = e.ask(e.checks, e.asking(true), now) // the error does not matter: a block needs no store
	for _, c := range blocking {
		at := c.take.Decision.At
		until := at + limiter.Instant(response.BlockedFor/time.Microsecond)
		c.take.Err, c.take.Decision = nil, limiter.Decision{At: at, RetryAt: until, ResetAt: until}
	}
	return false
}

// reread reads a zone once more, by other rules. The reading is empty if these rules do not limit the
// request, or only in a dry run: the request then keeps the limits that it waits for.
func (e *Evaluation) reread(app *App, z *zone.Zone, rules *zone.Snapshot) {
	found, zones := &e.reading, e.handler.Zones
	if app != e.handler.App {
		zones = app.Zones.All()
	}
	if i := slices.IndexFunc(zones, func(other *zone.Zone) bool { return other.Usage == z.Usage }); i >= 0 {
		if applies, err := zones[i].Read(&e.Request, rules, found); applies && err == nil && !found.DryRun {
			return
		}
	}
	*found = zone.Reading{Charges: found.Charges[:0], Concurrent: found.Concurrent[:0]}
}

// renewCheck gives a check the rule that limits its count now, if there is one. It returns true if that rule
// blocks all requests.
func (e *Evaluation) renewCheck(c *check) (blocks bool) {
	k, r := &c.take, &c.result
	for i := range e.reading.Charges {
		charge := &e.reading.Charges[i]
		switch {
		case charge.Policy.CountID != r.Policy.CountID:
		case charge.Policy.Block:
			blocks = true
		default:
			if cost := charge.Cost - e.charged(e.reading.Zone, charge.Policy.Rule, k.Key); cost > 0 {
				k.Cost, r.Cost, r.Reserves = cost, cost, charge.Reserves
			}
			k.Rule, r.Policy = charge.Policy.Rule, charge.Policy
		}
	}
	return blocks
}
