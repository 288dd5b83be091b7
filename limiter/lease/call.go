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
	again    atomic.Bool  // it was written more than once, as the store had refused to execute it
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
	queue       *queue // nil if the account was removed, and nobody waits
	content     content
	incarnation uint64 // of the lender that the request is for
	told        int64  // events of the debt of the account that LeaseRequest.More settles
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

// overdueAt returns when the reply to c is late, as an uptime, if it may take that long from the
// instant at which c was written: never, while that has not happened.
func (c *call) overdueAt(within time.Duration) time.Duration {
	if written := time.Duration(c.written.Load()); written != 0 {
		return written + within
	}
	return math.MaxInt64
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

// sendWaiting has a request of c carry all waiters. It returns the least that one of them needs,
// and what the others need. So when the least is denied, all are.
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
		t.told = int64(a.debt)
		l.More += t.told
	}
	if q := t.queue; q != nil {
		t.zone.store.stats.lost.Add(uint64(q.pending.moveTo(l)))
		q.underWay[everything].bare = !l.ChangesCount() && t.told == 0
	}
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
		q.pending.add(returns)
		return nil
	}
	c := newCall(l.key.Text, now)
	l.requestLocked(c, a, r, &queue{pending: returns}, everything)
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
		written = func() {
			if c.written.Swap(int64(s.uptime())) != 0 {
				c.again.Store(true)
			}
		}
	}
	s.lender.Lend(c.requests, written, func(err error) { s.complete(c, err) })
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
