package evaluate

import (
	"bytes"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/fleet/reservation"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A reserved take counts only if the response has one of some statuses. Else its events are given
// back.
type reserved struct {
	index  int // of the take in Evaluation.takes, until it is held
	take   limiter.Take
	origin limiter.Origin
	counts *config.StatusSet
	wait   time.Duration // for other reservations
	store  takeStore

	refunded bool // whatever the status is, because a later handler rejects the request
}

// addReserved makes the newest take a reserved one.
func (e *Evaluation) addReserved(counts *config.StatusSet, wait time.Duration) {
	r := &reserved{index: len(e.takes) - 1, counts: counts, wait: wait}
	e.takes[r.index].Origin = &r.origin
	e.reserved = append(e.reserved, r)
}

// hold holds the events of a take that was admitted, until the status of the response is known.
func (r *reserved) hold(e *Evaluation, take *limiter.Take) {
	if !take.Decision.OK {
		return // the store could not decide it
	}
	r.take, r.store = *take, e.handler.Store
	r.take.Key = bytes.Clone(take.Key) // the request's buffer is used again
	r.store.Reservations().Reserve(take.Rule.ID, take.Key)
	e.onStatus(r.settle)
}

// settle ends the reservation.
func (r *reserved) settle(status int) {
	ended := func() { r.store.Reservations().Settle(r.take.Rule.ID, r.take.Key) }
	if r.counts.Has(status) && !r.refunded {
		ended()
		return
	}
	r.store.Refund(r.take, ended)
}

// takeInTurn is takeFromStore for takes of which some are reserved. While such a take is denied, it
// waits for reservations of others to come back, after those that already wait. It returns the
// instant of the decisions, which is now unless it has waited.
func (e *Evaluation) takeInTurn(now time.Time) (time.Time, error) {
	ctx, table := e.HTTP.Context(), e.handler.Store.Reservations()
	since, began := table.Settled(), now
	var w *reservation.Waiter
	waitFor, tried, err := e.othersWaitFor(table), false, error(nil)
	for {
		if waitFor != nil {
			id, key := waitFor.Rule.ID, waitFor.Key
			if !w.IsFor(id, key) {
				w.Leave(true)
				w = nil
				if wait := e.leftOf(e.waitOfReserved(waitFor)); wait > 0 {
					w = table.Join(id, key, since, began.Add(wait))
				}
			}
			if w == nil && tried || w != nil && !w.Next(ctx) {
				break
			}
			e.handler.Store.DropDenial(waitFor.Rule, key)
			since, now = table.Settled(), time.Now()
			if !e.renew(now) {
				w.Leave(true)
				return now, err
			}
		}
		err, tried = e.takeFromStore(now), true
		if waitFor = e.deniedReservation(); waitFor == nil {
			break
		}
	}
	w.Leave(waitFor == nil)
	switch {
	case waitFor != nil && ctx.Err() != nil:
		return now, ctx.Err()
	case !tried:
		now = time.Now()
		err = e.takeFromStore(now)
	}
	return now, err
}

// othersWaitFor returns a reserved take for whose key other requests wait, nil if there is none.
func (e *Evaluation) othersWaitFor(table *reservation.Table) *limiter.Take {
	for _, r := range e.reserved {
		if k := &e.takes[r.index]; table.HasWaiters(k.Rule.ID, k.Key) {
			return k
		}
	}
	return nil
}

// waitOfReserved returns how long a reserved take waits for other reservations.
func (e *Evaluation) waitOfReserved(k *limiter.Take) (wait time.Duration) {
	for _, r := range e.reserved {
		if k == &e.takes[r.index] {
			wait = r.wait
		}
	}
	return wait
}

// isReserved reports whether the take with this index is a reserved one.
func (e *Evaluation) isReserved(index int) bool {
	return slices.ContainsFunc(e.reserved, func(r *reserved) bool { return r.index == index })
}

// deniedReservation returns the first take that is denied, if it is worth waiting for: all that are
// denied are reserved, and the store has decided them.
func (e *Evaluation) deniedReservation() (first *limiter.Take) {
	if e.blocked {
		return nil
	}
	for i := range e.takes {
		k := &e.takes[i]
		switch {
		case k.Decision.OK, k.Err != nil && !k.Decision.Source.WithoutStore():
		case !e.isReserved(i), k.Decision.Source.WithoutStore(), k.Decision.RetryAt == limiter.Never:
			return nil
		case first == nil:
			first = k
		}
	}
	return first
}
