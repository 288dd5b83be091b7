package lease

import (
	"context"
	"errors"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// takeInOutage decides the takes that have failed, unless another take is denied or nobody waits
// any more. It is called last: a denial by the store, on which all nodes agree, is worth more.
func (s *Store) takeInOutage(ctx context.Context, set *takeSet) {
	for i := range set.takes {
		t := &set.takes[i]
		switch {
		case t.state != failed:
		case ctx.Err() == nil && !set.any(denied):
			s.takeFailed(t, set.now)
		case t.waiter != nil:
			t.abandon()
		}
	}
}

// takeFailed decides a take that has failed, by its account, or by the crowd if it has no account.
func (s *Store) takeFailed(t *takeState, now instant) {
	if t.waiter != nil || (t.refused || t.waits()) && t.zone != nil {
		found := t.withAccount(func(a account) {
			if t.waiter == nil || !t.adoptReply() {
				s.decideFailed(t, a, now)
				s.concludeFailedLocked(t, a, now)
			}
		})
		if found {
			return
		}
	}
	s.takeWithCrowd(t, now)
}

// An admission is how a take was admitted, if it was. Unless it is debited, Rule.OnOutage has
// admitted the take without an answer of the lender. The package comment compares what the lender
// then hears of it.
type admission uint8

const (
	debited   admission = iota // by the lender, for a lease or for this take
	untold                     // by the crowd: the lender never hears of it
	indebted                   // the lender was not asked: its events are debt of the account
	carried                    // a request under way carries its waiter, and may serve it
	uncertain                  // its request has failed, and the lender may have debited it
)

// decideFailed has the account a decide t by Rule.OnOutage.
func (s *Store) decideFailed(t *takeState, a account, now instant) {
	retry := now.plus(s.options.ProbeEvery.Microseconds())
	a.takeInOutage(t.Rule, now, t.Cost, s.options.OutageNodes(), retry, &t.Decision)
	if isLate(t.Err) {
		t.Decision.Source = limiter.FromLate
	}
	if t.state = admitted; !t.Decision.OK {
		t.state = denied
	}
}

// concludeFailedLocked notes how t was admitted, if its account a has admitted it by Rule.OnOutage.
func (s *Store) concludeFailedLocked(t *takeState, a account, now instant) {
	waits := t.waiter != nil && t.waiter.status == waiting
	switch {
	case waits && t.waiter.leave(t.state == admitted):
		t.admission = carried
	case t.state == denied:
	case waits || t.wasNotAsked():
		t.admission = indebted
		s.oweLocked(&t.location, a, t.Rule, now, t.Cost)
	default:
		t.admission = uncertain
	}
}

// wasNotAsked reports whether the lender was certainly not asked for t, which has failed.
func (t *takeState) wasNotAsked() bool {
	err := t.Err
	if t.waiter != nil {
		err = t.waiter.err // t.Err may say that the set gave up
	}
	return t.refused || errors.Is(err, limiter.ErrNotAsked)
}

// admissionLocked returns how t was admitted, as of now: the request that has carried it may have
// ended.
func (t *takeState) admissionLocked() admission {
	if t.admission != carried {
		return t.admission
	}
	switch t.waiter.status {
	case late:
		return carried
	case served:
		return debited
	case becameDebt:
		return indebted
	}
	return uncertain
}

// takeWithCrowd has the crowd of its zone, which may be closed, decide a take that has failed. A
// take without a zone is decided by a new account.
func (s *Store) takeWithCrowd(t *takeState, now instant) {
	if z, _ := t.Rule.Zone.(*Accounts); z != nil {
		s.decideWithCrowd(z, t, now)
	} else {
		s.decideFailed(t, account{new(hot), new(cold)}, now)
	}
	if t.state == admitted {
		t.admission = untold
		s.stats.debt.Add(uint64(t.Cost))
		s.stats.debtDropped.Add(uint64(t.Cost))
	}
}

// oweLocked adds cost events to the debt of the account a. The next request of a settles the debt.
// If no request is under way, the wheel sends one.
func (s *Store) oweLocked(l *location, a account, r *limiter.Rule, now instant, cost int64) {
	s.addDebt(a, r, now, cost)
	if l.queueLocked() == nil {
		s.backOffLocked(l, a, now)
	}
}

// addDebt adds cost events to the debt of the account a, and counts them in the stats.
func (s *Store) addDebt(a account, r *limiter.Rule, now instant, cost int64) {
	if cost == 0 {
		return
	}
	s.stats.debt.Add(uint64(cost))
	s.stats.debtDropped.Add(uint64(a.addDebt(r, now, cost)))
}
