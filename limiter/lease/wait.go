package lease

import (
	"context"
	"errors"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A batch is what one round of a request waits for.
type batch struct {
	latch *latch // made when the first take waits
	calls []*call
}

func (b *batch) empty() bool { return b.latch == nil && b.calls == nil }

// round decides the selected takes from their accounts or has them wait for the lender, all at the
// same time.
func (s *Store) round(ctx context.Context, r *request) {
	var b batch
	for i := range r.takes {
		t := &r.takes[i]
		if t.selected && t.state == undecided {
			s.join(t, r, &b)
		}
		if t.state == denied { // by a reply to somebody else
			break
		}
	}
	s.await(ctx, r, &b)
}

// await sends the calls of b, and waits until the waiters are answered or the request gives up.
func (s *Store) await(ctx context.Context, r *request, b *batch) {
	for _, c := range b.calls {
		s.send(c)
	}
	if b.latch == nil {
		return
	}
	b.latch.done()
	gaveUp := b.latch.wait(ctx, s.timeLeft(r))
	r.now = s.now()
	for i := range r.takes {
		if t := &r.takes[i]; t.waiter != nil && t.waiter.latch == b.latch {
			s.collect(t, r.now, gaveUp)
		}
	}
}

// timeLeft returns how long the request may still wait.
func (s *Store) timeLeft(r *request) time.Duration {
	return s.options.Timeout - time.Duration(r.now.since(r.began))*time.Microsecond
}

// join decides t from its account, or has it wait for a lease request of the account, which is
// added to b unless one is under way.
func (s *Store) join(t *takeState, r *request, b *batch) {
	t.waiter = nil
	t.shard.Lock()
	defer t.shard.Unlock()
	a, ok := t.findLocked()
	if !ok {
		var returns []*call
		a, ok, returns = t.addLocked(t.Rule, r.now)
		b.calls = append(b.calls, returns...)
	}
	if !ok || t.zone.closed.Load() {
		t.state = delegated
		return
	}
	before := a.remaining
	if a.take(t.Rule, r.now, t.Cost, &t.Decision) {
		if t.concludeLocked(a, r.now); !r.alone() {
			t.spent = a.spentSince(before)
		}
		return
	}
	t.zone.rules.add(t.Rule)
	if s.refuse(t) {
		a.noteRefusal(t.Rule, r.now, t.Cost)
		return
	}
	if a.takeOnCredit(t.Rule, r.now, t.Cost, s.creditSharers(t.zone, t.Rule, r.now), &t.Decision) {
		t.concludeLocked(a, r.now)
		s.stats.credited.Add(uint64(t.Cost))
		t.zone.debt.Add(t.Cost)
		return
	}
	t.waiter = b.newWaiter(t.Cost)
	if q := t.queueLocked(); q != nil {
		q.waiting = append(q.waiting, t.waiter)
		return
	}
	t.requestLocked(b.callFor(t.Key, r.now), a, t.Rule, &queue{waiting: []*waiter{t.waiter}})
}

// newWaiter returns a waiter for a take of cost events that b waits for.
func (b *batch) newWaiter(cost int64) *waiter {
	if b.latch == nil {
		b.latch = newLatch()
		b.latch.add() // until all takes have joined
	}
	b.latch.add()
	return &waiter{cost: cost, latch: b.latch}
}

// callFor returns a call with room for a request of this key.
func (b *batch) callFor(key []byte, now instant) *call {
	for _, c := range b.calls {
		if c.hasRoomFor(key) {
			return c
		}
	}
	c := newCall(key, now)
	b.calls = append(b.calls, c)
	return c
}

// collect takes over what became of the waiter of t. If nothing has, t waits no longer, and gaveUp
// says why.
func (s *Store) collect(t *takeState, now instant, gaveUp error) {
	w := t.waiter
	reason := gaveUp
	if reason == nil {
		reason = w.err
	}
	busy := s.busy(t, reason)
	t.shard.Lock()
	defer t.shard.Unlock()
	switch {
	case w.status == replied && w.err == nil:
		t.adoptReply()
	case busy:
		s.takeLateLocked(t, now)
	default:
		if w.status != waiting {
			reason = w.err
		}
		if reason != errDenied {
			t.fail(reason) // takeInOutage sees to the waiter
		} else if w.status == waiting {
			t.queueLocked().giveUp(w)
		}
	}
}

// adoptReply takes over the reply that the waiter of t has, if that decides t. It does not if the
// call denied another take of the request.
func (t *takeState) adoptReply() (decides bool) {
	w := t.waiter
	switch {
	case w.status != replied || w.err != nil:
		return false
	case !w.decision.OK:
		t.state = denied
	case w.served || w.decision.Source == limiter.FromLease:
		t.state, t.spent = admitted, w.spent
	default:
		return false
	}
	t.Decision, t.Err = w.decision, nil
	return true
}

// refuse reports whether the lender is known to be in an outage. Then it is not asked, and t fails.
func (s *Store) refuse(t *takeState) bool {
	err := s.lender.Refusal(t.Key)
	if err != nil {
		t.fail(err)
		t.refused = true
	}
	return err != nil
}

// fail notes why the lender could not decide t.
func (t *takeState) fail(err error) { t.state, t.Err, t.Decision = failed, err, limiter.Decision{} }

// busy reports whether a take that has waited in vain, for this reason, did so because too much
// waits for the lender. An outage is something else.
func (s *Store) busy(t *takeState, reason error) bool {
	return (reason == ErrTimeout || errors.Is(reason, limiter.ErrLate)) && s.lender.Answers(t.Key)
}

// takeLateLocked decides t by what its account knows. If t is admitted, its waiter stays in the
// queue, so that the lender hears of it.
func (s *Store) takeLateLocked(t *takeState, now instant) {
	a, ok := t.findLocked()
	if !ok { // the zone was closed meanwhile
		t.fail(ErrTimeout)
		return
	}
	a.takeLate(t.Rule, now, t.Cost, &t.Decision)
	if t.state = admitted; !t.Decision.OK {
		t.state = denied
	}
	t.concludeWithoutLender(a, now)
}

// concludeWithoutLender has the lender hear of t, which a has decided without it, if t is admitted.
// Its waiter stays in the queue, or, if the lender was not asked, a later request has it debited.
func (t *takeState) concludeWithoutLender(a account, now instant) {
	w := t.waiter
	switch {
	case w != nil && w.status == waiting && t.state == admitted:
		w.status = late
		t.queueLocked().late += t.Cost
	case w != nil && w.status == waiting:
		t.queueLocked().giveUp(w)
	case t.state == admitted && (t.refused || w != nil && errors.Is(w.err, limiter.ErrNotAsked)):
		t.owed = true
		t.zone.store.owe(a, t.Rule, now, t.Cost)
		if t.queueLocked() == nil {
			t.zone.store.backOffLocked(&t.location, a, now)
		}
	}
}
