// Package reservation lets requests wait for the reservations of others. If the status of a response
// decides whether its request counts, the request reserves its events, and gives them back if it does
// not count. Until that is decided, other requests that the limit would reject wait for a while,
// because a reservation may come back.
package reservation

import (
	"sync"
	"sync/atomic"
	"time"
)

// Wait is the longest time that a request waits for a reservation to come back.
const Wait = time.Second

const (
	// mostOfKey is the highest number of waiting requests of a key, and most is that of a table.
	mostOfKey, most = 1000, 10_000

	// quietFor is the time in which no request of a key waits for reservations of other nodes, after
	// one has waited for them in vain. Most probably those reservations have counted.
	quietFor = 10 * Wait

	// mostQuiet is the highest number of keys whose quiet time is remembered.
	mostQuiet = 10_000
)

// A Table has the undecided reservations of this node, and the requests that wait. Use [New].
type Table struct {
	shared  bool          // other nodes may have reservations, too
	settled atomic.Uint64 // number of reservations that have ended

	mu      sync.Mutex // guards the fields below
	queues  map[key]*queue
	waiting int               // number of requests in all queues
	quiet   map[key]time.Time // until when no request waits for other nodes
}

// A key is a key under a rule.
type key struct {
	rule uint32
	text string
}

// A queue has the reservations of a key, and the requests that wait, in the order in which they came.
// Only the first request tries to take. When it has taken, it leaves, and the next one tries.
type queue struct {
	undecided int
	waiters   []*Waiter
}

// New returns a table. shared says that the counts are shared with other nodes. Reservations of other
// nodes come back unnoticed, so the first request that waits for a key then tries again and again.
func New(shared bool) *Table {
	return &Table{shared: shared, queues: make(map[key]*queue), quiet: make(map[key]time.Time)}
}

// Reserve adds a reservation of a key. Settle ends it.
func (t *Table) Reserve(rule uint32, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.queues[key{rule, string(text)}]; q != nil {
		q.undecided++
		return
	}
	t.queues[key{rule, string(text)}] = &queue{undecided: 1}
}

// Settle ends a reservation whose events were given back, or have counted.
func (t *Table) Settle(rule uint32, text []byte) {
	t.settled.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := key{rule, string(text)}
	q := t.queues[k]
	q.undecided--
	t.wakeLocked(k, q)
}

// wakeLocked wakes the first request in q. It deletes q if q is empty.
func (t *Table) wakeLocked(k key, q *queue) {
	switch {
	case len(q.waiters) > 0:
		q.waiters[0].wake()
	case q.undecided == 0:
		delete(t.queues, k)
	}
}

// Settled returns how many reservations have ended.
func (t *Table) Settled() uint64 { return t.settled.Load() }

// HasWaiters reports whether requests of a key wait. If so, another request must wait behind them.
func (t *Table) HasWaiters(rule uint32, text []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[key{rule, string(text)}]
	return q != nil && len(q.waiters) > 0
}

// Join adds a request to the queue of a key, either a denied one or one that must wait behind others.
// It returns nil if there is nothing to wait for, or if too many requests wait. since is the result of
// Settled before the denial.
func (t *Table) Join(rule uint32, text []byte, since uint64, until time.Time) *Waiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := key{rule, string(text)}
	q := t.queues[k]
	missed := t.Settled() != since
	if q == nil {
		q = new(queue)
	}
	if q.undecided == 0 && !missed && !t.asksLocked(k) {
		return nil
	}
	if len(q.waiters) >= mostOfKey || t.waiting >= most {
		return nil
	}
	t.queues[k] = q
	w := &Waiter{table: t, key: k, queue: q, until: until, ready: make(chan struct{}, 1)}
	q.waiters = append(q.waiters, w)
	t.waiting++
	if missed {
		w.wake()
	}
	return w
}

// asksLocked reports whether to wait for reservations of k by other nodes.
func (t *Table) asksLocked(k key) bool {
	return t.shared && !time.Now().Before(t.quiet[k])
}

// silenceLocked begins the quiet time of k.
func (t *Table) silenceLocked(k key) {
	now := time.Now()
	if len(t.quiet) >= mostQuiet {
		for other, until := range t.quiet {
			if !now.Before(until) {
				delete(t.quiet, other)
			}
		}
	}
	if len(t.quiet) < mostQuiet {
		t.quiet[k] = now.Add(quietFor)
	}
}
