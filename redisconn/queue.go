package redisconn

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxPending is how many calls a queue holds at most.
	maxPending = 16384

	// maxBatch is how many calls one pipeline carries: enough to make the cost of the pipeline
	// small beside that of its calls, and few enough that no call waits long for those before it.
	maxBatch = 256
)

// A queue holds the calls to one primary until one of its workers sends them.
type queue struct {
	addr string
	hire func() // starts a worker; nil if the queue has no workers
	health

	ctx context.Context // ends with the queue, and its connections with it
	end context.CancelFunc

	mu       sync.Mutex
	ready    sync.Cond   // workers with a free connection wait for it: see next
	calls    list.List   // of *pending, in the order of their arrival
	wanted   *probe      // the probe that the watcher wants; nil if it wants none
	timer    *time.Timer // looks at the calls again when the next pipeline is due
	armed    bool        // the timer runs
	ended    bool
	used     time.Time // when calls were taken last, or when the queue was made
	pool     pool
	shortage shortage
	identity identity
	known    *knownScripts // the scripts of the newest server process; nil before the first connection

	successor atomic.Pointer[string] // the address of the primary that has taken over its slots; nil if no primary has

	// roleDoubts counts the replies by which the server said that it is not, or no longer, the primary.
	// When the server is primary again, it may have another incarnation.
	roleDoubts atomic.Uint64

	// flushes counts how often the server has forgotten scripts that it had loaded.
	flushes atomic.Uint64
}

// newQueue returns a queue that calls onOpen when its breaker opens. onOpen must not block.
func newQueue(ctx context.Context, addr string, o *Options, onOpen func()) *queue {
	now := time.Now()
	q := &queue{addr: addr, used: now, pool: newPool(o.PoolSize, now)}
	q.health = health{began: now, breaker: newBreaker(o.Breaker, onOpen), lag: lag{began: now}}
	q.ctx, q.end = context.WithCancel(ctx)
	q.ready.L = &q.mu
	q.timer = time.AfterFunc(time.Hour, q.tick)
	q.timer.Stop()
	return q
}

// push queues p. The caller of push holds p, and still does when push fails.
func (q *queue) push(p *pending) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.ended:
		return ErrClosed
	case !q.breaker.admits():
		return q.breaker.err()
	case p.newKey && !q.shortage.admits(time.Now()):
		return ErrMemory
	case q.calls.Len() >= maxPending:
		return ErrBusy
	}
	q.pushLocked(p)
	return nil
}

func (q *queue) pushLocked(p *pending) {
	p.queue.Store(q)
	if p.state.CompareAndSwap(held, queued) { // else its caller has left
		p.element = q.calls.PushBack(p)
		q.asked()
		q.advanceLocked(time.Now())
	}
}

// remove takes p, whose caller has left, out of the queue, so that another call has room.
func (q *queue) remove(p *pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls.Remove(p.element) // does nothing when it was taken out meanwhile
}

// take takes out the oldest calls and returns at most maxBatch of them. It answers those that it is too
// late to send.
func (q *queue) take() []*pending {
	q.mu.Lock()
	batch, late := q.takeLocked(nil)
	q.mu.Unlock()
	answerLate(late)
	return batch
}

// takeLocked takes out the oldest calls and appends at most maxBatch of them to batch. late are calls
// that it took out too, but that it is too late to send.
func (q *queue) takeLocked(batch []*pending) (_, late []*pending) {
	now := time.Now()
	if q.calls.Len() > 0 {
		q.used = now
	}
	for q.calls.Len() > 0 && len(batch) < maxBatch {
		p := q.calls.Remove(q.calls.Front()).(*pending)
		switch {
		case !p.state.CompareAndSwap(queued, held): // its caller is leaving
		case now.After(p.deadline):
			late = append(late, p)
		default:
			batch = append(batch, p)
		}
	}
	return batch, late
}

// refused notes that the primary refused a call because it is out of memory.
func (q *queue) refused() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shortage.refused(time.Now())
}

// request has a worker probe the primary. A nil probe withdraws the request.
func (q *queue) request(p *probe) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.wanted = p; p != nil {
		q.asked()
		q.advanceLocked(time.Now())
	}
}

// takeProbe takes out the probe that the watcher wants. It returns nil if there is none.
func (q *queue) takeProbe() *probe {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.wanted
	q.wanted = nil
	return p
}

// advanceLocked has a worker send what waits, if it is due, and has a connection made if one is
// needed.
func (q *queue) advanceLocked(now time.Time) {
	calls := q.calls.Len() > 0
	if q.hire == nil || q.ended || !calls && q.wanted == nil {
		return
	}
	if q.pool.free > 0 && (q.wanted != nil || q.pool.due(now)) {
		q.ready.Signal()
	}
	q.growLocked(now)
	if calls && !q.armed {
		q.armed = true
		q.timer.Reset(q.pool.untilDue(now))
	}
}

// regrowLocked has another connection made if one is wanted. It does nothing while no connection is
// open, because the primary may be out of reach.
func (q *queue) regrowLocked(now time.Time) {
	if q.pool.linked > 0 {
		q.growLocked(now)
	}
}

// growLocked has another connection made if one is needed or wanted.
func (q *queue) growLocked(now time.Time) {
	if q.hire != nil && !q.ended && q.pool.grows(now) {
		q.pool.workers++
		q.hire()
	}
}

// tick looks at the calls that wait.
func (q *queue) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.armed = false
	q.advanceLocked(time.Now())
}

// reconnect closes all connections as soon as they are free. The network may have lost them. A probe
// over a lost connection would fail even if the primary answers again.
func (q *queue) reconnect() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reconnectLocked(time.Now())
}

// reconnectLocked closes the connections that were made before then as soon as they are free.
func (q *queue) reconnectLocked(then time.Time) {
	q.pool.renewed = then
	q.ready.Broadcast()
}

// shrink closes the connections that are not needed any more.
func (q *queue) shrink(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range q.pool.shrink(now) {
		q.ready.Signal()
	}
}

// drain takes out all queued calls, and passes each to handle.
func (q *queue) drain(handle func(*pending)) {
	for more := true; more; {
		batch := q.take()
		for _, p := range batch {
			handle(p)
		}
		more = len(batch) == maxBatch // a smaller batch is the last; later calls stay
	}
}

// answerLate answers calls that it is too late to send.
func answerLate(calls []*pending) {
	for _, p := range calls {
		p.queue.Load().errors.note(ErrUnsent)
		p.answer(nil, ErrUnsent)
	}
}

// failAll answers all queued calls with err.
func (q *queue) failAll(err error) { q.drain(func(p *pending) { p.answer(nil, err) }) }

// close ends the queue and its workers, and answers all queued calls with ErrClosed.
func (q *queue) close() {
	q.stopAccepting()
	q.failAll(ErrClosed)
}

// stopAccepting ends the queue and its workers. Queued calls can still be taken.
func (q *queue) stopAccepting() {
	q.mu.Lock()
	q.ended = true
	q.timer.Stop()
	q.ready.Broadcast()
	q.mu.Unlock()
	q.end()
}

// idleSince reports whether no call is queued and none was taken after t.
func (q *queue) idleSince(t time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.calls.Len() == 0 && q.used.Before(t)
}
