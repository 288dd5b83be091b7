package lease

import (
	"context"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// roomFor is how many takes are decided together without an allocation.
const roomFor = 8

// Take implements [limiter.Store]. now is an instant of Options.Clock. If accounts can decide, Take
// waits for nothing but locks, and does not allocate for up to 8 takes.
//
// Take looks at the accounts first. A key that the lender denied last is then requested alone,
// before anything is taken from the other keys. So a client that is denied again and again takes
// nothing from the keys that it shares. After that, Take requests what the accounts lack, for all
// keys at the same time. So it waits in two rounds at most. Takes that the lender cannot decide in
// time are decided by Rule.OnOutage, unless another take is denied. If a take is denied, or if
// nobody waits for the decision any more, Take gives back what the other takes have taken.
func (s *Store) Take(ctx context.Context, now limiter.Instant, takes []limiter.Take) error {
	if len(takes) == 1 {
		var room [1]takeState
		return s.take(ctx, fromCaller(now), takes, room[:])
	}
	var room [roomFor]takeState
	return s.take(ctx, fromCaller(now), takes, room[:])
}

// A takeSet is the takes of one request, which are decided together.
type takeSet struct {
	now   instant // moved on after the set has waited
	takes []takeState

	triedAlone bool // a take was requested alone, because of lastDenial
}

// A takeState is how far one take of a set is decided.
type takeState struct {
	*limiter.Take
	location // without a zone, the lender decides
	state    state

	selected    bool // for the next round of lease requests
	needsRefill bool // its account should send a request in the background
	spendsLast  bool // all other takes are admitted: if its lease suffices, nothing is undone

	lastDenial instant // while undecided: the retry instant of the last denial; 0 if there is none
	spent      spent   // of leases, if that may have to be undone
	refused    bool    // the lender was not asked, as it is known to be in an outage
	consumed   bool    // while allowed: the lender has consumed its events, as it denied no other take
	waiter     *waiter // of the newest round; nil if it has not waited
	admission  admission
}

type state uint8

const (
	undecided state = iota
	delegated       // to the lender, as there is no account
	allowed         // by the lender, after it was delegated: see consumed
	admitted        // by its account or after waiting, as Decision.Source says
	denied
	failed // the lender could not decide it
)

func (s *Store) take(ctx context.Context, now instant, takes []limiter.Take, room []takeState) error {
	if len(takes) > len(room) {
		room = make([]takeState, len(takes))
	}
	set := takeSet{now: now, takes: room[:len(takes)]}
	for i := range takes {
		t, k := &set.takes[i], &takes[i]
		t.Take, k.Err = k, nil
		if z := s.zoneOf(k.Rule); z != nil {
			t.locate(z, k.Rule.ID, k.Key)
		} else {
			t.state = delegated
		}
	}
	if set.alone() {
		s.takeOne(ctx, &set)
	} else if !s.spendLeases(&set) {
		s.takeAll(ctx, &set)
	}
	for i := range set.takes {
		t := &set.takes[i]
		if t.Origin != nil {
			t.noteOrigin()
		}
		if t.needsRefill {
			s.refill(t, set.now)
		}
	}
	return limiter.FirstError(takes)
}

// alone reports whether there is one take, so that nothing has to be undone.
func (set *takeSet) alone() bool { return len(set.takes) == 1 }

// any reports whether one of the takes is in the state s.
func (set *takeSet) any(s state) bool {
	for i := range set.takes {
		if set.takes[i].state == s {
			return true
		}
	}
	return false
}

// takeOne decides a take that is alone, mostly with one look-up under one lock.
func (s *Store) takeOne(ctx context.Context, set *takeSet) {
	t := &set.takes[0]
	t.selected = true
	var b batch
	if t.state == undecided {
		s.join(t, set, &b)
	}
	if !b.empty() || t.state == delegated {
		s.await(ctx, set, &b)
	}
	s.takeInOutage(ctx, set)
}

// takeAll decides a set for which leases do not suffice, in two rounds at most.
func (s *Store) takeAll(ctx context.Context, set *takeSet) {
	if !set.any(denied) && set.selectDeniedLast() {
		s.round(ctx, set)
		if set.triedAlone = true; !set.any(denied) {
			s.spendLeases(set)
		}
	}
	if !set.any(denied) && set.selectUndecided() {
		s.round(ctx, set)
	}
	s.takeInOutage(ctx, set)
	if set.any(denied) || set.any(failed) && ctx.Err() != nil {
		s.undoAll(ctx, set)
	}
}

// spendLeases decides undecided takes from leases and remembered denials, and reports whether all
// takes of the set are admitted. It stops spending at the first take that is denied, or that the
// lender denied last and that is to be tried alone. Then it puts back what it has spent, and looks
// only for denials.
func (s *Store) spendLeases(set *takeSet) (admits bool) {
	admits, stopped := true, false
	for i := range set.takes {
		t := &set.takes[i]
		if t.state == undecided {
			t.spendsLast = admits && i == len(set.takes)-1
			s.spendLease(t, set.now, stopped)
			if !stopped && (t.state == denied || t.lastDenial != 0 && !set.triedAlone) {
				stopped = true
				s.release(set)
			}
		}
		admits = admits && t.state == admitted
	}
	return admits
}

// spendLease decides t from its account, if the account can. If onlyDenials is set, it looks only
// for a denial, and spends nothing.
func (s *Store) spendLease(t *takeState, now instant, onlyDenials bool) {
	t.shard.Lock()
	defer t.shard.Unlock()
	a, ok := t.findLocked()
	switch {
	case !ok:
		return
	case !onlyDenials:
		before := a.remaining
		if a.takeWaiting(t.Rule, now, t.Cost, t.wait(), &t.Decision) {
			t.concludeLocked(a, now)
			if !t.spendsLast || t.Origin != nil {
				t.spent = a.spentSince(before, now)
			}
		}
	case a.peekWaiting(t.Rule, now, t.Cost, t.wait(), &t.Decision) && !t.Decision.OK:
		t.state = denied
	}
	if t.state == undecided {
		t.lastDenial = a.lastDenial(t.Rule, t.Cost)
	}
}

// concludeLocked notes that the account a has decided t.
func (t *takeState) concludeLocked(a account, now instant) {
	if t.state = admitted; !t.Decision.OK {
		t.state = denied
	}
	if t.Decision.OK || a.exhausted(t.Rule, now) {
		t.needsRefill = a.needsRefill(t.Rule, now, t.zone.store.roundTrip.Load())
	}
}

// selectDeniedLast selects the take that the lender denied last for the next round, and reports
// whether there is one. Of several such takes, it selects the one with the latest retry instant,
// which will most probably be denied again.
func (set *takeSet) selectDeniedLast() bool {
	var latest *takeState
	for i := range set.takes {
		t := &set.takes[i]
		if t.state == undecided && t.lastDenial != 0 && (latest == nil || t.lastDenial > latest.lastDenial) {
			latest = t
		}
	}
	if latest == nil {
		return false
	}
	latest.selected = true
	return true
}

// selectUndecided selects all takes that are not decided yet for the next round, and reports
// whether there are any.
func (set *takeSet) selectUndecided() (found bool) {
	for i := range set.takes {
		t := &set.takes[i]
		t.selected = t.state == undecided || t.state == delegated
		found = found || t.selected
	}
	return found
}

// toDelegate reports whether the lender is to decide t in this round, because t has no account.
func (t *takeState) toDelegate() bool { return t.selected && t.state == delegated }

// delegate has the lender decide the takes of this round that have no account.
func (s *Store) delegate(ctx context.Context, set *takeSet) {
	within, cancel := context.WithTimeout(ctx, 2*s.options.Timeout)
	defer cancel()
	var takes []limiter.Take
	for i := range set.takes {
		if t := &set.takes[i]; t.toDelegate() && !s.refuse(t) {
			takes = append(takes, *t.Take)
		}
	}
	if len(takes) == 0 {
		return
	}
	s.stats.delegated.Add(1)
	sent := set.now
	_ = s.lender.Take(within, set.now.forCaller(), takes) // each take has its error
	set.now = s.now()
	denies := func(k limiter.Take) bool { return k.Err == nil && !k.Decision.OK }
	consumed := !slices.ContainsFunc(takes, denies)
	for i := range set.takes {
		t := &set.takes[i]
		if !t.toDelegate() {
			continue
		}
		t.Decision, t.Err, takes = takes[0].Decision, takes[0].Err, takes[1:]
		if t.Err != nil && within.Err() != nil && ctx.Err() == nil {
			t.Err = ErrTimeout
		}
		s.concludeTurn(t, sent, set.now)
		switch {
		case t.Err != nil:
			t.fail(t.Err)
		case t.Decision.OK:
			t.state, t.consumed = allowed, consumed
		default:
			t.state = denied
		}
	}
}

// refill requests leases for the account of t in the background, if the account still needs them.
// It is called after the set is decided, so that it does not request events that undoing the set
// has put back.
//
// A refill that can wait is left to the next tick of the wheel. The wheel sends all refills that
// are due together, which takes far less processor time than to send each by itself. If too many
// calls are under way, the wheel tries again if there is debt, and otherwise the next take does.
func (s *Store) refill(t *takeState, now instant) {
	var c *call
	t.shard.Lock()
	a, ok := t.findLocked()
	leases := t.zone.leases()
	if ok && (leases || a.debt > 0) && !t.zone.closed.Load() && a.needsRefill(t.Rule, now, s.roundTrip.Load()) && !t.backingOffLocked() {
		full, p := false, toTell
		if leases {
			p = toRefill
		}
		if a.lastsFor(t.Rule, now, 2*tick) {
			s.setBackoffLocked(&t.location, backoff{until: now, refill: true})
		} else if c, full = s.beginLocked(&t.location, a, t.Rule, now, maxRefills, p); full && a.debt > 0 {
			s.attendSoonLocked(&t.location, now)
		}
	}
	t.shard.Unlock()
	s.send(c)
}
