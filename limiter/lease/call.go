package lease

import (
	"bytes"
	"math"
	"sync/atomic"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A call carries the lease requests of one key to the lender.
type call struct {
	key      []byte
	sent     instant
	written  atomic.Int64 // the uptime at which it was last written to the network; 0 if never
	again    atomic.Bool  // it was written more than once: the store had refused to execute it
	targets  []target
	requests []limiter.LeaseRequest

	background bool // no take waits for it, so it counts in Store.background
	purpose    purpose
	latch      *latch // to be told when the call is complete; may be nil

	room struct { // for one request, in the allocation of the call
		targets  [1]target
		requests [1]limiter.LeaseRequest
	}
}

// A purpose is what a call is for, apart from the takes that wait for it.
type purpose uint8

const (
	toTell   purpose = iota // the lender is told the news of the account
	toRefill                // the call also wants leases, although no take waits
	toReturn                // the call returns all parts, and wants nothing
)

// A target is where the reply to one request of a call belongs.
type target struct {
	location           // its key's text is that of the call
	queue       *queue // nil if the account was removed, so that no take waits
	content     content
	incarnation uint64 // of the lender that the request is for
	told        int64  // how many events of LeaseRequest.More are debt of the account
}

func newCall(key []byte, now instant) *call {
	c := &call{key: bytes.Clone(key), sent: now}
	c.targets, c.requests = c.room.targets[:0], c.room.requests[:0]
	return c
}

// hasRoomFor reports whether c can carry one more request of this key. A call in the background
// carries one request only.
func (c *call) hasRoomFor(key []byte) bool {
	return !c.background && len(c.requests) < limiter.MaxLeaseRequests && bytes.Equal(c.key, key)
}

// overdueAt returns the uptime from which the reply to c is late, if within is how long it may take
// after c was written. The reply is never late if c was not written yet.
func (c *call) overdueAt(within time.Duration) time.Duration {
	if written := time.Duration(c.written.Load()); written != 0 {
		return written + within
	}
	return math.MaxInt64
}

// requestLocked has c carry a request for the account a, with the content as. q is the queue of the
// account, which may be new.
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

// sendWaiting has a request of c carry all waiters. need is the smallest cost of a waiter, and more
// is the sum of the other costs. So if the smallest cost is denied, all are.
func (q *queue) sendWaiting(c *call, as content) (need, more int64) {
	q.underWay[as] = underWay{call: c, waiters: q.waiting}
	for i, w := range q.waiting {
		w.call = c
		more += w.cost
		if i == 0 || w.cost < need {
			need = w.cost
		}
	}
	q.waiting = nil
	return need, more - need
}

// addLocked adds a request for the account a, which must have none under way with the content of t.
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

// fillEverything fills in l, a request of c for the account a with the content everything.
func (t *target) fillEverything(c *call, a account, r *limiter.Rule, need, more int64, l *limiter.LeaseRequest) {
	t.zone.dropPassed(a, r, c.sent)
	t.zone.dropPassedDebt(a, r, c.sent)
	switch c.purpose {
	case toTell:
		a.request(r, c.sent, need, more, l)
	case toRefill:
		a.requestRefill(r, c.sent, t.zone.store.roundTrip.Load(), l)
	case toReturn:
		a.requestReturn(r, c.sent, l)
	}
	if !t.zone.leases() {
		l.Want, l.Share = 0, 0
	}
	if a.debt > 0 {
		t.told = int64(a.debt)
		l.More += t.told
	}
	if q := t.queue; q != nil {
		t.zone.store.stats.lost.Add(uint64(q.pending.moveTo(l)))
		q.underWay[everything].bare = !l.ChangesCount() && t.told == 0
	}
}

// beginLocked returns a call in the background for the account a. If most such calls are under way
// already, it returns nil and reports full. If the lender is known to be in an outage, it returns
// nil and the account backs off.
func (s *Store) beginLocked(l *location, a account, r *limiter.Rule, now instant, most int64, p purpose) (c *call, full bool) {
	if s.lender.Refusal(l.key.Text) != nil {
		s.backOffLocked(l, a, now)
		return nil, false
	}
	if !s.background.begin(most) {
		return nil, true
	}
	c = newCall(l.key.Text, now)
	c.background, c.purpose = true, p
	l.requestLocked(c, a, r, new(queue), everything)
	return c, false
}

// beginSoonLocked returns a call that tells the lender the news of the account a. If the background
// is full, it returns nil and has the wheel come soon.
func (s *Store) beginSoonLocked(l *location, a account, r *limiter.Rule, now instant) *call {
	c, full := s.beginLocked(l, a, r, now, maxBackground, toTell)
	if full {
		s.attendSoonLocked(l, now)
	}
	return c
}

// tellLocked has the next request of the account a carry these returns. If no request is under way,
// it returns the call for that request, and otherwise nil.
func (l *location) tellLocked(a account, r *limiter.Rule, now instant, returns pendingReturns) *call {
	if q := l.queueLocked(); q != nil {
		q.pending.add(returns)
		return nil
	}
	c := newCall(l.key.Text, now)
	l.requestLocked(c, a, r, &queue{pending: returns}, everything)
	return c
}

// send sends c to the lender, unless c is nil. The caller holds no lock.
func (s *Store) send(c *call) {
	if c == nil {
		return
	}
	s.stats.requests.Add(1)
	var written func()
	if !c.background { // a take waits for it
		written = func() {
			if c.written.Swap(int64(s.uptime())) != 0 {
				c.again.Store(true)
			}
		}
	}
	s.lender.Lend(c.requests, written, func(err error) { s.complete(c, err) })
}

const (
	// maxBackground bounds the calls in the background that are under way. A lender that replies in
	// 10 ms needs fewer for 400,000 requests per second. It is a quarter of what the connection to
	// one primary queues: the rest is for calls that takes wait for. Their number is not bounded
	// here, because a take that waits begins nothing else.
	maxBackground = 4096

	// maxRefills bounds the calls that takes begin for refills, so that a flood of new keys leaves
	// room for the wheel, which returns leases and settles older debt.
	maxRefills = maxBackground / 4 * 3
)

// A backgroundLimit counts the calls in the background that are under way.
type backgroundLimit struct{ calls atomic.Int64 }

// begin counts one call more. If most calls are under way already, it counts none and reports
// false.
func (b *backgroundLimit) begin(most int64) bool {
	if b.calls.Add(1) <= most {
		return true
	}
	b.calls.Add(-1)
	return false
}

func (b *backgroundLimit) end() { b.calls.Add(-1) }

// room returns how many more calls may begin.
func (b *backgroundLimit) room() int { return int(max(0, maxBackground-b.calls.Load())) }
