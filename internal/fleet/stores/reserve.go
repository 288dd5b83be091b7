package stores

import (
	"context"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/fleet/reservation"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// refundWithin bounds the time of a refund in Redis. After that time, nobody knows whether Redis has
// given the events back.
const refundWithin = time.Second

// Reservations returns the reservations of this node.
func (s *Store) Reservations() *reservation.Table { return s.reservations }

// Refund calls [limiter.Store.Refund] for a take, and then done. It does not wait for Redis.
func (s *Store) Refund(take limiter.Take, done func()) {
	refund := func() {
		ctx, cancel := context.WithTimeout(context.Background(), refundWithin)
		defer cancel()
		_ = s.limits.Refund(ctx, s.instant(time.Now()), []limiter.Take{take}) // on an error, the events count
		done()
	}
	if s.redis != nil && take.Decision.Source == limiter.FromStore {
		go refund()
		return
	}
	refund()
}

// GiveBack calls [limiter.Promiser.GiveBack]. It returns false if the store makes no promises.
func (s *Store) GiveBack(ctx context.Context, now time.Time, take *limiter.Take) (back bool, err error) {
	promiser, ok := s.limits.(limiter.Promiser)
	if !ok {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, refundWithin)
	defer cancel()
	return promiser.GiveBack(ctx, s.instant(now), take)
}

// Charge calls [limiter.Store.Charge] for a take. It does not wait for Redis.
func (s *Store) Charge(take limiter.Take) {
	charge := func() {
		ctx, cancel := context.WithTimeout(context.Background(), refundWithin)
		defer cancel()
		_ = s.limits.Charge(ctx, s.instant(time.Now()), []limiter.Take{take}) // an outage shows in takes
	}
	if s.redis != nil {
		go charge()
		return
	}
	charge()
}

// DropDenial forgets that Redis has denied a key, so the next take of the key asks Redis.
func (s *Store) DropDenial(r *limiter.Rule, key []byte) {
	if leases := s.Leases(); leases != nil {
		leases.DropDenial(r, key)
	}
}
