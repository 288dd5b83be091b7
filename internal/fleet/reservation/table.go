// Package reservation has requests wait for reservations. A request whose status decides whether it
// counts reserves its events, and gives them back when it does not. While that is undecided, others
// that the limit would reject wait for a while: one of the reservations may come back.
package reservation

import (
	"sync"
	"sync/atomic"
	"time"
)

// Wait is how long a request waits at most for a reservation to come back.
const Wait = time.Second

const (
	// mostOfKey and most bound the requests that wait, of a key and of a table.
	mostOfKey, most = 1000, 10_000

	// quietFor is for how long nobody waits for the reservations of other nodes after a request has
	// done so in vain. Most probably they have counted.
	quietFor = 10 * Wait

	// mostQuiet bounds the keys that are remembered for that.
	mostQuiet = 10_000
)

// A Table has the reservations of this node that are undecided, and the requests that wait. Use
// [New].
type Table struct {
	shared  bool          // other nodes have reservations, too
	settled atomic.Uint64 // reservations in all

	mu      sync.Mutex // guards what follows
	queues  map[key]*queue
	waiting int               // requests
	quiet   map[key]time.Time // until when nobody waits for other nodes
}

// A key is whose events are reserved, under a rule.
type key struct {
	rule uint32
	text string
}

// A queue is the reservations of a key, and the requests that wait, the first first. Only the first
// tries to take. When it has, it leaves, and the next one tries.
type queue struct {
	undecided int
	waiters   []*Waiter
}

// New returns a table. If its counts are shared, reservations of other nodes come back unnoticed,
// so that the first request that waits for a key tries again and again.
func New(shared bool) *Table {
	return &Table{shared: shared, queues: make(map[key]*queue), quiet: make(map[key]time.Time)}
}

// Reserve adds a reservation. Settle ends it.
func (t *Table) Reserve(rule uint32, text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.queues[key{rule, string(text)}]; q != nil {
		q.undecided++
		return
	}
	t.queues[key{rule, string(text)}] = &queue{undecided: 1}
}

// Settle ends a reservation, whose events were given back or have counted.
func (t *Table) Settle(rule uint32, text []byte) {
	t.settled.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	k := key{rule, string(text)}
	q := t.queues[k]
	q.undecided--
	t.wakeLocked(k, q)
}

// wakeLocked has the first request in q try. It removes q if that is empty.
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

// HasWaiters reports whether requests of a key wait. Then another one comes after them.
func (t *Table) HasWaiters(rule uint32, text []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[key{rule, string(text)}]
	return q != nil && len(q.waiters) > 0
}

// Join has a request wait that was denied, or that comes after others. It returns nil if there is
// nothing to wait for, or too many wait. since is what Settled returned before the denial.
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

// asksLocked reports whether other nodes may have reservations of k that come back.
func (t *Table) asksLocked(k key) bool {
	return t.shared && !time.Now().Before(t.quiet[k])
}

// silenceLocked has nobody wait for other nodes for a while.
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
