package lease

import (
	"bytes"
	"errors"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A call carries the lease requests of one key to the lender.
type call struct {
	key      []byte
	sent     instant
	written  atomic.Int64 // the uptime at which it was written to the network last; 0: it was not yet
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
	content     content
	incarnation uint64 // of the lender that the request is for
	debt        int64  // events of LeaseRequest.More that settle the debt of the account
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

// addLocked adds a request for the account a, which has none under way with the content of t.
func (c *call) addLocked(t target, a account, r *limiter.Rule) {
	c.requests = append(c.requests, limiter.LeaseRequest{Key: c.key, Nodes: t.zone.store.options.Nodes()})
	l := &c.requests[len(c.requests)-1]
	var need, more int64
	if t.queue != nil {
		need, more = t.queue.sendWaiting(c, t.content)
	}
	if t.content == needsOnly {
		a.requestNeeds(r, c.sent, need, more, l)
	} else {
		t.fillEverything(c, a, r, need, more, l)
	}
	t.incarnation = l.Incarnation
	c.targets = append(c.targets, t)
}

// fillEverything fills in l, a request of c for the account a that carries all there is.
func (t *target) fillEverything(c *call, a account, r *limiter.Rule, need, more int64, l *limiter.LeaseRequest) {
	t.zone.dropPassed(a, r, c.sent)
	t.zone.dropPassedDebt(a, r, c.sent)
	if c.refill {
		a.requestRefill(r, c.sent, t.zone.store.roundTrip.Load(), l)
	} else {
		a.request(r, c.sent, need, more, l)
	}
	if !t.zone.leases() {
		l.Want, l.Share = 0, 0
	}
	if a.debt > 0 {
		t.debt = int64(a.debt)
		l.More += t.debt
	}
	if q := t.queue; q != nil {
		t.zone.store.stats.lost.Add(uint64(q.returns.moveTo(l)))
		q.requests[everything].bare = !l.ChangesCount() && t.debt == 0
	}
}

// queueLocked returns the queue of the account, or nil when it has no request under way.
func (l *location) queueLocked() *queue {
	return l.shard.State.queues[name{l.key.ID, string(l.key.Text)}]
}

// requestLocked has c carry a request for the account a and its queue q, which may be new.
func (l *location) requestLocked(c *call, a account, r *limiter.Rule, q *queue, as content) {
	st := &l.shard.State
	if st.queues == nil {
		st.queues = make(map[name]*queue)
	}
	if !q.busy() {
		st.queues[name{l.key.ID, string(c.key)}] = q
	}
	l.zone.rules.add(r)
	t := target{location: *l, queue: q, content: as}
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
	l.requestLocked(c, a, r, new(queue), everything)
	return c, false
}

// beginSoonLocked returns a call that tells the lender of the news that the account a has. When the
// background is too full for it, the wheel comes soon.
func (s *Store) beginSoonLocked(l *location, a account, r *limiter.Rule, now instant) *call {
	c, full := s.beginLocked(l, a, r, now, maxBackground, false)
	if full {
		s.attendSoonLocked(l, now)
	}
	return c
}

// tellLocked has the next request of a carry these returns. If no request is under way, it returns
// the call for it.
func (l *location) tellLocked(a account, r *limiter.Rule, now instant, returns pendingReturns) *call {
	if q := l.queueLocked(); q != nil {
		q.returns.add(returns)
		return nil
	}
	c := newCall(l.key.Text, now)
	l.requestLocked(c, a, r, &queue{returns: returns}, everything)
	return c
}

// send sends c to the lender, unless it is nil. No lock is held.
func (s *Store) send(c *call) {
	if c == nil {
		return
	}
	s.stats.requests.Add(1)
	var written func()
	if !c.background { // else nobody waits
		written = func() { c.written.Store(int64(s.uptime())) }
	}
	s.lender.Lend(c.requests, written, func(err error) { s.complete(c, err) })
}

// complete deals with the reply to c.
func (s *Store) complete(c *call, err error) {
	now := s.now()
	took := now.since(c.sent)
	s.options.Observe(time.Duration(took)*time.Microsecond, err)
	if err == nil {
		before := s.roundTrip.Load()
		s.roundTrip.Store(before + (took-before)/8)
	}
	for i := range c.targets {
		t, l := &c.targets[i], &c.requests[i]
		s.stats.replied(l, t.incarnation, err)
		if t.queue == nil {
			s.stats.settled(t.debt, l, err)
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
	waiters := q.requests[t.content].waiters
	dropped, debt := t.endDropLocked()
	q.requests[t.content] = underWay{}
	if err != nil {
		a.requesting = q.busy()
		if !errors.Is(err, limiter.ErrNotAsked) {
			s.stats.settled(a.reduceDebt(debt), l, err)
		}
		lost, late := q.fail(waiters, err)
		s.stats.lost.Add(uint64(lost))
		s.addDebt(a, l.Rule, now, late)
		if !a.requesting {
			t.endRequestLocked(q)
		}
		s.backOffLocked(&t.location, a, now)
		return nil
	}
	t.clearBackoffLocked()
	q.cancelUnused(waiters, l, t.debt)
	if a.olderThanNewest(l, t.incarnation) {
		a.applyOlderReply(l.Rule, sent, now, l)
	} else {
		a.applyReply(l.Rule, sent, now, l, s.jitterOf(l), q.returns.any())
	}
	a.requesting = q.busy()
	if l.Need == 0 || l.Served > 0 { // else nothing was debited
		a.served(min(t.debt, l.Served))
		s.stats.settled(a.reduceDebt(debt), l, nil)
	}
	r := t.zone.rules.of(l.Rule.ID, a) // not that of l if takes have come under a new one
	a.drop(r, dropped)
	s.addDebt(a, r, now, q.serve(waiters, a, r, l, t.debt, now))
	if t.zone.closed.Load() {
		a.retire()
	}
	t.zone.dropPassed(a, r, now)
	if _, at := a.nextReturn(r, now); l.Granted+l.GrantedShare > 0 && at > 0 && !a.watched {
		a.watched = a.hasPart()
		s.wheel.add(due{at, t.zone, t.key.Hash})
	}
	content, free := q.next(a)
	switch {
	case content == everything && (!q.empty() || a.hasNews(r, now)), free && len(q.waiting) > 0:
		next = newCall(l.Key, now)
		next.addLocked(target{location: t.location, queue: q, content: content}, a, r)
	case !a.requesting:
		t.endRequestLocked(q)
	}
	return next
}

// jitterOf returns for how many µs too long the denial in the reply to l is remembered, if it has
// one.
func (s *Store) jitterOf(l *limiter.LeaseRequest) int64 {
	denied := *l
	if d := l.Denial(); d != nil {
		denied.Decision = *d
	}
	return int64(s.options.Random() * float64(denied.Jitter()+1))
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
