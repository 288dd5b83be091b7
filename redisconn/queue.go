package redisconn

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxPending is how many calls with a caller that waits a queue holds.
	maxPending = 16384

	// maxBatch is how many calls one pipeline carries: enough that its cost is that of its calls, few enough that a call
	// does not wait long for those before it.
	maxBatch = 256
)

// A queue holds the calls to one primary until one of its workers sends them.
type queue struct {
	addr string

	ctx context.Context // ends with the queue, and its connections with it
	end context.CancelFunc

	mu    sync.Mutex
	ready sync.Cond // something is pending, or the queue has ended
	// calls[taken:] are pending, in the order of their arrival. Their states are queued or left; calls[:taken] are nil.
	calls  []*pending
	taken  int
	ended  bool
	used   time.Time // when something was taken last, or the queue was made
	linked int       // workers that hold a connection

	// dead is how many of calls[taken:] are left. It lags behind by the callers that are just leaving.
	dead atomic.Int64

	// failing is set from the first failure or silence until the next answer.
	failing   atomic.Bool
	onFailing func() // called when failing becomes true
	silence   silence

	memory memory

	// roleDoubts counts the replies that say that the server is not, or no longer, the primary: it may have another run when
	// it is one again.
	roleDoubts atomic.Uint64
}

func newQueue(ctx context.Context, addr string, suspect func()) *queue {
	q := &queue{addr: addr, used: time.Now(), onFailing: suspect, silence: silence{began: time.Now()}}
	q.ctx, q.end = context.WithCancel(ctx)
	q.ready.L = &q.mu
	return q
}

// push queues p, which the caller of push holds. It holds it still when push fails.
func (q *queue) push(p *pending) error {
	if p.newKey && !q.memory.admits() {
		return ErrMemory
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return ErrClosed
	}
	if q.liveLocked() >= maxPending {
		return ErrBusy
	}
	p.queue.Store(q)
	if !p.state.CompareAndSwap(held, queued) {
		return nil // its caller has left
	}
	q.makeRoomLocked()
	q.calls = append(q.calls, p)
	q.silence.asked()
	q.ready.Signal()
	return nil
}

// take takes the oldest calls out, at most maxBatch, appends them to batch and leaves out those that nobody waits for.
func (q *queue) take(batch []*pending) []*pending {
	now := time.Now()
	q.mu.Lock()
	batch, late := q.takeLocked(now, batch)
	q.mu.Unlock()
	for _, p := range late {
		p.answer(nil, ErrTimeout)
	}
	return batch
}

// takeLocked is take, but that those which it is too late to send are the caller's to answer.
func (q *queue) takeLocked(now time.Time, batch []*pending) (due, late []*pending) {
	q.used = now
	for q.taken < len(q.calls) && len(batch) < maxBatch {
		p := q.calls[q.taken]
		q.calls[q.taken] = nil
		q.taken++
		switch {
		case !p.state.CompareAndSwap(queued, held):
			q.dead.Add(-1)
		case now.After(p.deadline):
			late = append(late, p)
		default:
			batch = append(batch, p)
		}
	}
	if q.taken < len(q.calls) {
		q.ready.Signal()
	} else {
		q.calls, q.taken = q.calls[:0], 0
	}
	return batch, late
}

// await blocks until something is pending. It reports whether the queue goes on.
func (q *queue) await() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.taken == len(q.calls) && !q.ended {
		q.ready.Wait()
	}
	return !q.ended
}

// failAll answers what is pending with err.
func (q *queue) failAll(err error) {
	for more := true; more; {
		batch := q.take(nil)
		for _, p := range batch {
			p.answer(nil, err)
		}
		more = len(batch) == maxBatch // a smaller one was all there was; what came since is for the next try
	}
}

// close ends the queue and its workers, and answers all that is pending with ErrClosed.
func (q *queue) close() {
	q.stopAccepting()
	q.failAll(ErrClosed)
}

// stopAccepting ends the queue and its workers. What is pending can still be taken.
func (q *queue) stopAccepting() {
	q.mu.Lock()
	q.ended = true
	q.ready.Broadcast()
	q.mu.Unlock()
	q.end()
}

// idleSince reports whether nothing is pending and nothing was taken after t.
func (q *queue) idleSince(t time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken == len(q.calls) && q.used.Before(t)
}

// fail notes that the primary failed or is silent.
func (q *queue) fail() {
	if q.failing.CompareAndSwap(false, true) {
		q.onFailing()
	}
}

// breakDown notes that the primary cannot be reached, or takes no calls at this time.
func (q *queue) breakDown() {
	q.silence.down.Store(true)
	q.fail()
}

// succeed notes that the primary answered.
func (q *queue) succeed() {
	q.silence.broken()
	if q.failing.Load() {
		q.failing.Store(false)
	}
}

func (q *queue) liveLocked() int {
	return len(q.calls) - q.taken - int(q.dead.Load())
}

// makeRoomLocked makes append grow calls only when at least half of them are pending: so the calls whose callers left
// take no more room than the others, and each call costs O(1) all the same.
func (q *queue) makeRoomLocked() {
	if len(q.calls) < cap(q.calls) || q.liveLocked() > len(q.calls)/2 {
		return
	}
	kept := q.calls[:0]
	for _, p := range q.calls[q.taken:] {
		if p.state.Load() == left {
			q.dead.Add(-1)
		} else {
			kept = append(kept, p)
		}
	}
	clear(q.calls[len(kept):])
	q.calls, q.taken = kept, 0
}

// addLinked notes that so many workers more have a connection, and returns how many have.
func (q *queue) addLinked(change int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.linked += change
	return q.linked
}
