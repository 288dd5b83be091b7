package concurrency

import "container/list"

// MostQueued is the most requests that wait for their turn on a node. At most half as many wait
// under one rule. Of one key, at most as many requests wait as may be in flight, or leastQueued if
// that is more.
const MostQueued = 10_000

const leastQueued = 10

// A queue has the requests of a key that wait for their turn: a pure calculator. The oldest request
// comes first as long as all get their turn. When the queue is more than 80 % full, some requests
// wait in vain. Then the newest request comes first, because its client will wait the longest from
// now on. If the oldest still came first, each request would get its turn when it is about to be
// too late.
type queue struct {
	waiters list.List // of *waiter, the oldest first
	most    int
}

// isFull reports whether no more requests may wait.
func (q *queue) isFull() bool { return q.waiters.Len() >= q.most }

// push adds a request.
func (q *queue) push(w *waiter) { w.place = q.waiters.PushBack(w) }

// pop removes the request whose turn it is.
func (q *queue) pop() *waiter {
	next := q.waiters.Front()
	if 5*q.waiters.Len() > 4*q.most {
		next = q.waiters.Back()
	}
	w := next.Value.(*waiter)
	q.remove(w)
	return w
}

// remove removes a request that is in the queue.
func (q *queue) remove(w *waiter) {
	q.waiters.Remove(w.place)
	w.place = nil
}

// queued returns how many requests of the account wait for their turn.
func (a *account) queued() int {
	if a.queue == nil {
		return 0
	}
	return a.queue.waiters.Len()
}

// mostQueued returns the most requests of a key that may wait for their turn.
func (r *Rule) mostQueued() int { return int(min(max(r.Limit, leastQueued), MostQueued)) }
