package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A batch is what one round of a takeSet waits for.
type batch struct {
	latch *latch // made when the first take waits
	calls []*call
}

func (b *batch) empty() bool { return b.latch == nil && b.calls == nil }

// round decides the selected takes from their accounts or has them wait for the lender, all at the
// same time. The lender decides those without an account.
func (s *Store) round(ctx context.Context, set *takeSet) {
	var b batch
	for i := range set.takes {
		t := &set.takes[i]
		if t.selected && t.state == undecided {
			s.join(t, set, &b)
		}
		if t.state == denied { // by what a reply to another take has told the account
			break
		}
	}
	s.await(ctx, set, &b)
}

// await sends the calls of b, has the lender decide the takes without an account, and waits until
// the waiters are answered or the set gives up.
func (s *Store) await(ctx context.Context, set *takeSet, b *batch) {
	for _, c := range b.calls {
		s.send(c)
	}
	if !set.any(denied) {
		s.delegate(ctx, set)
	}
	if b.latch == nil {
		return
	}
	b.latch.done()
	gaveUp := b.latch.wait(ctx, s.options.Timeout, func() time.Duration { return s.patience(set, b) })
	set.now = s.now()
	for i := range set.takes {
		if t := &set.takes[i]; t.waiter != nil && t.waiter.latch == b.latch {
			s.collect(t, gaveUp)
		}
	}
}

// patience returns how much longer the set waits for b: as long as the take that waits longest.
func (s *Store) patience(set *takeSet, b *batch) time.Duration {
	var until time.Duration
	for i := range set.takes {
		if t := &set.takes[i]; t.waiter != nil && t.waiter.latch == b.latch {
			until = max(until, s.patienceOf(t))
		}
	}
	return until - s.uptime()
}

// patienceOf returns the uptime until which t waits. That is one timeout after the call that
// carries t was written, but at most two timeouts after t began to wait. At most three timeouts are
// allowed if that call, or another one that t waited for, was written again because the store had
// refused to execute it. If the process reads replies late, t waits longer by as much, and by one
// timeout at most.
//
// If no call carries t, one will when a call under way is answered. Then t waits until the calls
// under way are overdue, and for one timeout at least.
func (s *Store) patienceOf(t *takeState) time.Duration {
	t.shard.Lock()
	defer t.shard.Unlock()
	w, timeout := t.waiter, s.options.Timeout
	if w.status != waiting {
		return 0
	}
	lag := min(max(0, s.lender.Lag()), timeout)
	until := w.joined + timeout + lag
	if w.call != nil {
		until = w.call.overdueAt(timeout + lag)
		w.again = w.again || w.call.again.Load()
	} else {
		for _, u := range t.queueLocked().underWay {
			if u.call != nil {
				until = max(until, u.call.overdueAt(timeout+lag))
				w.again = w.again || u.call.again.Load()
			}
		}
	}
	last := w.joined + 2*timeout + lag
	if w.again {
		last += timeout
	}
	return min(last, until)
}

// join decides t from its account, or has t wait for a lease request of the account. If the request
// can be sent now, join adds it to b.
func (s *Store) join(t *takeState, set *takeSet, b *batch) {
	t.waiter = nil
	t.shard.Lock()
	defer t.shard.Unlock()
	a, ok := t.findLocked()
	if !ok {
		var returns []*call
		a, ok, returns = t.addLocked(t.Rule, set.now)
		b.calls = append(b.calls, returns...)
	}
	if !ok || t.zone.closed.Load() {
		t.state = delegated
		return
	}
	before := a.remaining
	if a.takeWaiting(t.Rule, set.now, t.Cost, t.wait(), &t.Decision) {
		if t.concludeLocked(a, set.now); !set.alone() || t.Origin != nil {
			t.spent = a.spentSince(before, set.now)
		}
		return
	}
	t.zone.rules.add(t.Rule)
	if t.waits() {
		t.state = delegated
		return
	}
	if s.refuse(t) {
		a.noteRequest(t.Rule, set.now, t.Cost)
		return
	}
	t.waiter = b.newWaiter(t.Cost, s.uptime())
	q := t.queueLocked()
	if q == nil {
		q = new(queue)
	}
	others := len(q.waiting)
	q.waiting = append(q.waiting, t.waiter)
	if content, free := q.next(a); free && others == 0 {
		t.requestLocked(b.callFor(t.Key, set.now), a, t.Rule, q, content)
	}
}

// newWaiter returns a waiter for a take of cost events, which waits in b from the uptime now on.
func (b *batch) newWaiter(cost int64, now time.Duration) *waiter {
	if b.latch == nil {
		b.latch = newLatch()
		b.latch.add() // until all takes have joined
	}
	b.latch.add()
	return &waiter{cost: cost, joined: now, latch: b.latch}
}

// callFor returns a call of b with room for a request of this key.
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

// collect takes over the answer that the waiter of t has got. If there is none, t waits no longer,
// and gaveUp says why.
func (s *Store) collect(t *takeState, gaveUp error) {
	w := t.waiter
	t.shard.Lock()
	defer t.shard.Unlock()
	switch {
	case w.err != nil:
		t.fail(w.err)
	case w.status != waiting:
		t.adoptReply()
	case gaveUp != errDenied:
		t.fail(gaveUp) // takeInOutage sees to the waiter
	default:
		w.leave(false)
	}
}

// abandon ends the wait of t. If a reply has come meanwhile, it decides t. Otherwise t stays
// undecided.
func (t *takeState) abandon() {
	t.shard.Lock()
	defer t.shard.Unlock()
	if t.waiter.status == waiting {
		t.waiter.leave(false)
	} else {
		t.adoptReply()
	}
}

// adoptReply takes over the reply that the waiter of t has, and reports whether the reply decides
// t. It does not if nothing was served because another take of the call was denied.
func (t *takeState) adoptReply() (decides bool) {
	w := t.waiter
	switch {
	case w.status == waiting || w.err != nil:
		return false
	case !w.decision.OK:
		t.state = denied
	case w.status == served || w.decision.Source == limiter.FromLease:
		t.state, t.spent = admitted, w.spent
	default:
		return false
	}
	t.Decision, t.Err = w.decision, nil
	return true
}

// refuse reports whether the lender is known to be in an outage. If it is, the lender is not asked,
// and t fails.
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

// isLate reports whether err means that the lender has not answered in time.
func isLate(err error) bool { return errors.Is(err, ErrTimeout) || errors.Is(err, limiter.ErrLate) }

// A latch waits until everything that was added to it is done.
type latch struct {
	pending atomic.Int64
	open    chan struct{} // closed when nothing is pending
	denied  chan struct{} // has room for one
}

func newLatch() *latch { return &latch{open: make(chan struct{}), denied: make(chan struct{}, 1)} }

// add adds one. The latch must not be open.
func (l *latch) add() { l.pending.Add(1) }

func (l *latch) done() {
	if l.pending.Add(-1) == 0 {
		close(l.open)
	}
}

// deny notes that a take is denied, so that the outcome of the other takes does not matter to the
// request any more.
func (l *latch) deny() {
	select {
	case l.denied <- struct{}{}:
	default:
	}
}

// errDenied means that another take is denied, and that the wait for the others is over.
var errDenied = errors.New("lease: another take is denied")

// minPatience is how long at least a wait goes on after a denial, if the timeout allows that.
const minPatience = time.Millisecond

// wait waits until the latch is open, and returns nil, or returns why it gave up. It waits for
// timeout at first. Then it asks more how much longer to wait, until that is nothing. After a
// denial, it waits for as long again as the denial took. A lender that replies will have replied by
// then, and one that hangs does not hold up a request that is denied anyway.
func (l *latch) wait(ctx context.Context, timeout time.Duration, more func() time.Duration) error {
	began, reason, denied := time.Now(), ErrTimeout, l.denied
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		select {
		case <-l.open:
			return nil
		case <-denied:
			took := time.Since(began)
			timer.Reset(min(max(took, minPatience), max(0, timeout-took)))
			reason, denied = errDenied, nil
		case <-timer.C:
			select {
			case <-l.open: // on a busy node, both may have happened meanwhile
				return nil
			default:
			}
			if reason == ErrTimeout {
				if left := more(); left > 0 {
					timer.Reset(left)
					continue
				}
			}
			return reason
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
