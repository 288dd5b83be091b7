package redisconn

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxPending is how many calls a queue holds.
	maxPending = 16384

	// maxBatch is how many calls one pipeline carries: enough to make the cost of the pipeline
	// small beside that of its calls, and few enough that no call waits long for those before it.
	maxBatch = 256
)

// A queue holds the calls to one primary until one of its workers sends them.
type queue struct {
	addr string
	health

	ctx context.Context // ends with the queue, and its connections with it
	end context.CancelFunc

	mu       sync.Mutex
	ready    sync.Cond // there is a call or a probe, or the queue has ended
	calls    list.List // of *pending, in the order of their arrival
	probe    *probe    // that the watcher wants; nil: none
	ended    bool
	used     time.Time // when calls were taken last, or when the queue was made
	shortage shortage

	linked atomic.Int32 // workers that hold a connection

	// roleDoubts counts the replies of a server that is not, or no longer, the primary. It may have
	// another incarnation when it is primary again.
	roleDoubts atomic.Uint64
}

// newQueue returns a queue that calls onOpen when its breaker opens. onOpen must not block.
func newQueue(ctx context.Context, addr string, o BreakerOptions, onOpen func()) *queue {
	now := time.Now()
	q := &queue{addr: addr, used: now, health: health{began: now, breaker: newBreaker(o, onOpen), lag: lag{began: now}}}
	q.ctx, q.end = context.WithCancel(ctx)
	q.ready.L = &q.mu
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
		q.ready.Signal()
	}
}

// remove makes the room of p, whose caller has left, available to others.
func (q *queue) remove(p *pending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls.Remove(p.element) // does nothing when it was taken out meanwhile
}

// take takes out the oldest calls and appends at most maxBatch of them to batch. It answers those
// that it is too late to send.
func (q *queue) take(batch []*pending) []*pending {
	q.mu.Lock()
	now := time.Now()
	if q.calls.Len() > 0 {
		q.used = now
	}
	var late []*pending
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
	if q.calls.Len() > 0 {
		q.ready.Signal()
	}
	q.mu.Unlock()
	for _, p := range late {
		p.answer(nil, ErrTimeout)
	}
	return batch
}

// refused notes that the primary refused a call because it is out of memory.
func (q *queue) refused() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shortage.refused(time.Now())
}

// request has a worker probe the primary. nil: it shall not any more.
func (q *queue) request(p *probe) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.probe = p; p != nil {
		q.asked()
		q.ready.Signal()
	}
}

// takeProbe takes out the probe that the watcher wants. It returns nil if there is none.
func (q *queue) takeProbe() *probe {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.probe
	q.probe = nil
	return p
}

// handOver has the other workers look for something to do.
func (q *queue) handOver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready.Broadcast()
}

// await blocks until there is a call or a probe. It reports false when the queue has ended.
func (q *queue) await() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.calls.Len() == 0 && q.probe == nil && !q.ended {
		q.ready.Wait()
	}
	return !q.ended
}

// drain takes out all queued calls, and passes each to handle.
func (q *queue) drain(handle func(*pending)) {
	for more := true; more; {
		batch := q.take(nil)
		for _, p := range batch {
			handle(p)
		}
		more = len(batch) == maxBatch // a smaller batch is the last; later calls stay
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
