package zone

import (
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// waits are for how long requests wait at an endpoint.
type waits struct {
	forTurn   time.Duration // for events that come back with time, and for requests in flight to end
	forStatus time.Duration // for reservations whose requests may turn out not to count
}

// newWaits returns what `wait` says, or nil if there is none.
func newWaits(w *caddy.Duration) waits {
	if w == nil {
		return waits{forStatus: config.DefaultStatusWait}
	}
	return waits{time.Duration(*w), time.Duration(*w)}
}

// waitFor returns the wait for events that count with some statuses only, or with all if counts is nil.
func (w waits) waitFor(counts *config.StatusSet) time.Duration {
	if counts != nil {
		return w.forStatus
	}
	return w.forTurn
}

// longestWait returns the longest wait for the count of the zone: that of the zone, or of an endpoint
// whose requests, or those of some tiers, have no count of their own.
func (b *ruleBuilder) longestWait() time.Duration {
	longest := newWaits(b.zone.Wait).forTurn
	for _, e := range b.zone.Endpoints {
		if e != nil && e.Limit == nil {
			longest = max(longest, newWaits(e.Wait).forTurn)
		}
	}
	return max(0, min(longest, config.MaxWait)) // others are refused
}

// checkWaitBesideCharge refuses a charge at e of a count for which requests wait: nothing goes back to a
// bucket that has promised turns.
func (e *endpointRules) checkWaitBesideCharge() error {
	if e.late == nil {
		return nil
	}
	if e.wait.forTurn > 0 {
		return errors.New("wait and charge do not go together, because what a response leaves of its reservation cannot be given " +
			"back while others wait for their turn: use `wait 0` beside the charge")
	}
	for _, r := range e.all() {
		if r.limits() && !r.Block && r.compiled.MaxWait > 0 {
			return errors.New("charge is of a count for which other requests of the zone wait, and nothing can be given back to it " +
				"meanwhile: use `limit` beside the charge for a count of its own, or no wait there")
		}
	}
	return nil
}

// leastHelped is one of how many rejected requests a wait must help at least.
const leastHelped = 20

// checkWaits refuses waits of the configuration that help no request. Endpoints are those of the
// zone, compiled; the last is its rest. Limits that operators set later may be such as they like.
func (b *ruleBuilder) checkWaits(endpoints []endpointRules) error {
	zoneUsed, zoneErr := b.zone.Wait == nil, errors.New("wait is not used, because every endpoint has its own: use no wait in the zone")
	for i := range endpoints {
		e, isRest, own := &endpoints[i], i == len(b.zone.Endpoints), (*caddy.Duration)(nil)
		if !isRest {
			own = b.zone.Endpoints[i].Wait
		}
		switch err := e.checkWaitBesideCharge(); {
		case err != nil && isRest:
			return config.ErrorIn("charge", err)
		case err != nil:
			return b.errorAt(i, err)
		case own != nil:
			if err := e.checkWait(time.Duration(*own), newWaits(b.zone.Wait)); err != nil {
				return b.errorAt(i, err)
			}
		case b.zone.Wait != nil:
			if err := e.checkWait(time.Duration(*b.zone.Wait), newWaits(nil)); err != nil {
				zoneErr = err
			} else {
				zoneUsed = true
			}
		}
	}
	if !zoneUsed {
		return config.ErrorIn("wait", zoneErr)
	}
	return nil
}

// checkWait refuses a wait at e that helps no request. Without it, the waits would be others.
func (e *endpointRules) checkWait(wait time.Duration, others waits) error {
	switch {
	case wait == 0 && others.waitFor(e.counts) == 0:
		return errors.New("wait is 0, and without it requests do not wait either: use no wait, or a duration such as 500ms")
	case wait == 0, e.concurrent != nil:
		return nil
	}
	shortest := time.Duration(0)
	for _, r := range e.all() {
		if !r.limits() || r.Block {
			continue
		}
		if e.counts != nil {
			return nil // reservations come back
		}
		if p := e.period(r); shortest == 0 || p < shortest {
			shortest = p
		}
	}
	switch least := shortest / leastHelped; {
	case shortest == 0:
		return fmt.Errorf("wait %v helps no request, because no limit rejects one that it would admit later: use no wait", wait)
	case wait < least && least > config.MaxWait:
		return fmt.Errorf("wait %v helps hardly any request, because those that are rejected would have to wait for up to %v: "+
			"use no wait", wait, shortest)
	case wait < least:
		return fmt.Errorf("wait %v helps hardly any request, because those that are rejected would have to wait for up to %v: "+
			"use %v or more, or no wait", wait, shortest, (least + time.Millisecond - 1).Truncate(time.Millisecond))
	}
	return nil
}

// period returns for how long a request is rejected at most if it comes alone, and the limit is used
// up evenly before.
func (e *endpointRules) period(r *rule) time.Duration {
	if r.Algorithm.Kind == limiter.FixedWindow {
		return r.Limit.Window
	}
	return time.Duration(float64(r.Limit.Window) / float64(r.Limit.Events) * float64(max(e.cost.fixed, 1)))
}
