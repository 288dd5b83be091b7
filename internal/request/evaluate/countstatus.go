package evaluate

import (
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/fleet/reservation"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A statusSettlement gives the events of a take back, unless the status of the response is one of counts.
type statusSettlement struct {
	keptTake
	counts *config.StatusSet
}

// isByStatus reports whether the events of the check count only if the response has certain statuses.
func (c *check) isByStatus() bool {
	_, is := c.settlement.(*statusSettlement)
	return is
}

func (s *statusSettlement) hold(e *Evaluation, c *check) {
	if !s.keep(e, c) {
		return
	}
	s.store.Reservations().Reserve(s.take.Rule.ID, s.take.Key)
	e.onStatus(s.settle)
}

// settle ends the reservation, when the status of the response is known.
func (s *statusSettlement) settle(status int) {
	ended := func() { s.store.Reservations().Settle(s.take.Rule.ID, s.take.Key) }
	if s.counts.Has(status) && !s.cancelled {
		ended()
		return
	}
	s.store.Refund(s.take, ended)
}

// takeInTurn has the store decide the takes, some of which count by status. While such a take is denied, the
// request waits until other requests give reservations back. It waits behind the requests that wait already.
// takeInTurn returns the instant of the decisions, which is now unless the request has waited, and the error
// of the store or of a client that has gone.
func (e *Evaluation) takeInTurn(now time.Time) (time.Time, error) {
	ctx, table := e.HTTP.Context(), e.handler.Store.Reservations()
	since, began := table.Settled(), now
	var w *reservation.Waiter
	waitFor, tried, err := e.othersWaitFor(table), false, error(nil)
	for {
		if waitFor != nil {
			rule, key := waitFor.take.Rule, waitFor.take.Key
			if !w.IsFor(rule.ID, key) {
				w.Leave(true)
				w = nil
				if wait := e.leftOf(waitFor.wait.most); wait > 0 {
					w = table.Join(rule.ID, key, since, began.Add(wait))
				}
			}
			if w == nil && tried || w != nil && !w.Next(ctx) {
				break
			}
			e.handler.Store.DropDenial(rule, key)
			since, now = table.Settled(), time.Now()
			if !e.renew(now) {
				w.Leave(true)
				return now, err
			}
		}
		err, tried = e.ask(e.checks, taking, now), true
		if waitFor = e.deniedByStatus(); waitFor == nil {
			break
		}
	}
	w.Leave(waitFor == nil)
	switch {
	case waitFor != nil && ctx.Err() != nil:
		return now, ctx.Err()
	case !tried:
		now = time.Now()
		err = e.ask(e.checks, taking, now)
	}
	return now, err
}

// othersWaitFor returns the first check that counts by status and for whose key other requests wait, nil if
// there is none.
func (e *Evaluation) othersWaitFor(table *reservation.Table) *check {
	for i := range e.checks {
		if c := &e.checks[i]; c.isByStatus() && table.HasWaiters(c.take.Rule.ID, c.take.Key) {
			return c
		}
	}
	return nil
}

// deniedByStatus returns the first check that is denied, if waiting may help: each denied check counts by
// status, was decided by the store, and can succeed later. Otherwise it returns nil.
func (e *Evaluation) deniedByStatus() (first *check) {
	for i := range e.checks {
		c := &e.checks[i]
		switch k := &c.take; {
		case k.Rule == nil, k.Decision.OK, k.Err != nil && !k.Decision.Source.WithoutStore():
		case !c.isByStatus(), k.Decision.Source.WithoutStore(), k.Decision.RetryAt == limiter.Never:
			return nil
		case first == nil:
			first = c
		}
	}
	return first
}
