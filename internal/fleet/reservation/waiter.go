package reservation

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// askEvery is the interval at which the first request of a key tries if nothing wakes it. Up to half of
// it is added at random, so that nodes do not try at the same instants.
const askEvery = 40 * time.Millisecond

// A Waiter is a request that waits. A nil Waiter is a request that does not wait.
type Waiter struct {
	table *Table
	key   key
	queue *queue
	until time.Time
	ready chan struct{} // has room for one value, which says that the request should try
}

// IsFor reports whether w waits for this key.
func (w *Waiter) IsFor(rule uint32, text []byte) bool {
	return w != nil && w.key.rule == rule && w.key.text == string(text)
}

func (w *Waiter) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// Next waits until the request should try again, and returns true. It returns false if the request
// should give up: its time is over, its client has left, or no reservation is left that could come
// back.
func (w *Waiter) Next(ctx context.Context) bool {
	timer := time.NewTimer(time.Until(w.until))
	defer timer.Stop()
	for {
		ask, hopeless := w.state()
		if hopeless {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-w.ready:
			if w.isFirst() {
				return ctx.Err() == nil
			}
		case <-timer.C:
			return false
		case <-after(ask):
			return true
		}
	}
}

// after returns a channel that gets a value after about askEvery, or never if ask is false.
func after(ask bool) <-chan time.Time {
	if !ask {
		return nil
	}
	return time.After(askEvery + rand.N(askEvery/2))
}

// state reports whether the request should ask at intervals, and whether it waits in vain.
func (w *Waiter) state() (ask, hopeless bool) {
	t := w.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.queue.waiters[0] != w {
		return false, false
	}
	return t.shared, !t.shared && w.queue.undecided == 0 && len(w.ready) == 0
}

func (w *Waiter) isFirst() bool {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	return w.queue.waiters[0] == w
}

// Leave ends the wait. admitted says whether the request was admitted.
func (w *Waiter) Leave(admitted bool) {
	if w == nil {
		return
	}
	t, q := w.table, w.queue
	t.mu.Lock()
	defer t.mu.Unlock()
	first := q.waiters[0] == w
	q.waiters = slices.DeleteFunc(q.waiters, func(other *Waiter) bool { return other == w })
	t.waiting--
	if first && !admitted && t.shared && q.undecided == 0 && !time.Now().Before(w.until) {
		t.silenceLocked(w.key)
	}
	if first || len(q.waiters) == 0 {
		t.wakeLocked(w.key, q)
	}
}
