package lease

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A call carries the lease requests of one key to the lender.
type call struct {
	key      []byte
	sent     instant
	targets  []target
	requests []limiter.LeaseRequest

	background bool   // nobody waits for it, so it counts in Store.background
	refill     bool   // it wants leases although nobody waits
	latch      *latch // is done when the call is; may be nil

	room struct { // for one request, in the same allocation
		targets  [1]target
		requests [1]limiter.LeaseRequest
	}
}

// A target is where the reply to one request of a call belongs.
type target struct {
	location           // its key's text is that of the call
	queue       *queue // nil: the account was removed, and nobody waits
	incarnation uint64 // of the lender that the request is for
	owed        int64  // events of LeaseRequest.More that were admitted before: see account.owe
}

func newCall(key []byte, now instant) *call {
	c := &call{key: bytes.Clone(key), sent: now}
	c.targets, c.requests = c.room.targets[:0], c.room.requests[:0]
	return c
}

// hasRoomFor reports whether c, unless it is in the background, can carry one more request of this
// key.
func (c *call) hasRoomFor(key []byte) bool {
	return !c.background && len(c.requests) < limiter.MaxLeaseRequests && bytes.Equal(c.key, key)
}

// addLocked adds a request for the account a, which has none under way.
func (c *call) addLocked(t target, a account, r *limiter.Rule) {
	l := limiter.LeaseRequest{Key: c.key}
	var need, more int64
	if t.queue != nil {
		need, more = t.queue.sendWaiting()
	}
	t.zone.dropPassed(a, r, c.sent)
	t.zone.dropOwed(a, r, c.sent)
	if c.refill {
		a.requestRefill(r, c.sent, &l)
	} else {
		a.request(r, c.sent, need, more, &l)
	}
	if a.inDebt {
		t.owed = int64(a.owed)
		l.More += t.owed
	}
	if t.queue != nil {
		t.zone.store.stats.lost.Add(uint64(t.queue.addReturns(&l)))
	}
	t.incarnation = l.Incarnation
	c.targets = append(c.targets, t)
	c.requests = append(c.requests, l)
}

// queueLocked returns the queue of the account, or nil when it has no request under way.
func (l *location) queueLocked() *queue {
	return l.shard.State.queues[name{l.key.ID, string(l.key.Text)}]
}

// requestLocked has c carry a request for the account a and its new queue q.
func (l *location) requestLocked(c *call, a account, r *limiter.Rule, q *queue) {
	st := &l.shard.State
	if st.queues == nil {
		st.queues = make(map[name]*queue)
	}
	st.queues[name{l.key.ID, string(c.key)}] = q
	l.zone.rules.add(r)
	t := target{location: *l, queue: q}
	t.key.Text = c.key
	c.addLocked(t, a, r)
}

// endRequestLocked notes that the account has no request under way any more.
func (l *location) endRequestLocked(q *queue) {
	if q.drained != nil {
		q.drained.done()
	}
	delete(l.shard.State.queues, name{l.key.ID, string(l.key.Text)})
}

// beginLocked returns a call for the account a that nobody waits for. full means that there are as
// many as most of those, and so none is returned. Nor is one while the lender is known to be in an
// outage: then the account backs off.
func (s *Store) beginLocked(l *location, a account, r *limiter.Rule, now instant, most int64, refill bool) (c *call, full bool) {
	if s.lender.Refusal(l.key.Text) != nil {
		s.backOffLocked(l, a, now)
		return nil, false
	}
	if !s.background.begin(most) {
		return nil, true
	}
	c = newCall(l.key.Text, now)
	c.background, c.refill = true, refill
	l.requestLocked(c, a, r, new(queue))
	return c, false
}

// send sends c to the lender, unless it is nil. No lock is held.
func (s *Store) send(c *call) {
	if c == nil {
		return
	}
	s.stats.requests.Add(1)
	for i := range c.requests {
		c.requests[i].Nodes = s.options.Nodes()
	}
	s.lender.Lend(c.requests, func(err error) { s.complete(c, err) })
}

// complete deals with the reply to c.
func (s *Store) complete(c *call, err error) {
	now := s.now()
	s.options.Observe(time.Duration(now.since(c.sent))*time.Microsecond, err)
	for i := range c.targets {
		t, l := &c.targets[i], &c.requests[i]
		t.zone.debt.Add(-s.stats.replied(l, t.incarnation, err))
		if t.queue == nil {
			s.stats.settledOwed(t.owed, l, err)
			continue
		}
		next := s.reply(t, l, c.sent, now, err)
		if next != nil && next.requests[0].Need == 0 { // it takes the place of c
			next.background, c.background = c.background, false
		}
		s.send(next)
	}
	if c.background {
		s.background.end()
	}
	if c.latch != nil {
		c.latch.done()
	}
}

// reply applies the reply to l, which was sent at sent, and answers the waiters. It returns the
// next call, for those that still wait and for what the lender is still to hear.
func (s *Store) reply(t *target, l *limiter.LeaseRequest, sent, now instant, err error) (next *call) {
	t.shard.Lock()
	defer t.shard.Unlock()
	a, _ := t.findLocked() // an account with a request under way stays
	q := t.queue
	dropped, owed := t.endDropLocked(l, err)
	if err != nil {
		a.requesting = false
		if !errors.Is(err, limiter.ErrNotAsked) {
			s.stats.settledOwed(a.paidOwed(owed), l, err)
		}
		lost, owed := q.fail(err)
		s.stats.lost.Add(uint64(lost))
		if owed > 0 {
			s.owe(a, l.Rule, now, owed)
		}
		t.endRequestLocked(q)
		s.backOffLocked(&t.location, a, now)
		return nil
	}
	t.clearBackoffLocked()
	a.withhold(-q.late) // this reply accounts for the late waiters, or a later one
	a.applyReply(l.Rule, sent, now, l, rand.Int64N(l.Jitter()+1), q.hasReturns())
	if l.Need == 0 || l.Served > 0 { // else nothing was debited
		a.withhold(min(t.owed, l.Served))
		s.stats.settledOwed(a.paidOwed(owed), l, nil)
	}
	r := t.zone.rules.of(l.Rule.ID, a) // not that of l if takes have come under a new one
	a.drop(r, dropped)
	q.serve(a, r, l, t.owed, now)
	a.withhold(q.late)
	if t.zone.closed.Load() {
		a.retire()
	}
	t.zone.dropPassed(a, r, now)
	if _, at := a.nextReturn(r, now); l.Granted > 0 && at > 0 {
		s.wheel.add(due{at, t.zone, t.key.Hash})
	}
	if q.empty() && !a.hasNews(r, now) {
		t.endRequestLocked(q)
		return nil
	}
	next = newCall(l.Key, now)
	next.addLocked(target{location: t.location, queue: q}, a, r)
	return next
}

// hasNews reports whether the lender should hear of expired leases or of debt of a, which has no
// request under way.
func (a account) hasNews(r *limiter.Rule, now instant) bool {
	expired, _ := a.nextReturn(r, now)
	return !a.requesting && (expired || a.inDebt)
}

const (
	// maxBackground bounds the calls under way that nobody waits for. They are more than a lender
	// that replies in 10 ms needs for 400,000 requests per second, and a quarter of what the
	// connection to one primary queues. The rest is for calls that takes wait for. Those are not
	// bounded here, as a take that waits begins nothing else.
	maxBackground = 4096

	// maxRefills bounds the calls that takes begin for refills, so that a flood of new keys leaves
	// room for the wheel: for leases that go back, and for older debt.
	maxRefills = maxBackground / 4 * 3
)

// A backgroundLimit counts the calls under way that nobody waits for.
type backgroundLimit struct{ calls atomic.Int64 }

// begin counts one call more, unless there are as many as most.
func (b *backgroundLimit) begin(most int64) bool {
	if b.calls.Add(1) <= most {
		return true
	}
	b.calls.Add(-1)
	return false
}

func (b *backgroundLimit) end() { b.calls.Add(-1) }

// room returns how many calls may begin.
func (b *backgroundLimit) room() int { return int(max(0, maxBackground-b.calls.Load())) }
