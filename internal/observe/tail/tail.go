// Package tail hands values to readers that follow them live. The goroutine that hands out a value
// never waits for a reader: a value that finds no room is dropped and counted.
package tail

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A List has the open tails for one kind of values. The zero value is an empty list. A List is safe
// for concurrent use.
type List[F, T any] struct {
	open atomic.Pointer[[]*Tail[F, T]] // nil if no tail is open
	mu   sync.Mutex                    // held while open changes
}

// A Tail is a buffer of values for one reader. Filter says which values the reader wants.
type Tail[F, T any] struct {
	Filter F

	values  chan T
	dropped atomic.Uint64
}

// Open opens a tail with room for this many values. It returns nil if most tails are open already.
func (l *List[F, T]) Open(filter F, room, most int) *Tail[F, T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := l.All()
	if len(open) >= most {
		return nil
	}
	t := &Tail[F, T]{Filter: filter, values: make(chan T, room)}
	open = append(slices.Clip(open), t)
	l.open.Store(&open)
	return t
}

// Close removes a tail.
func (l *List[F, T]) Close(t *Tail[F, T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := slices.DeleteFunc(slices.Clone(l.All()), func(other *Tail[F, T]) bool { return other == t })
	if len(open) == 0 {
		l.open.Store(nil)
		return
	}
	l.open.Store(&open)
}

// All returns the open tails. It costs one atomic load.
func (l *List[F, T]) All() []*Tail[F, T] {
	if open := l.open.Load(); open != nil {
		return *open
	}
	return nil
}

// Full reports whether there is no room for a value. If there is none, Full counts a dropped value,
// so the caller need not make one.
func (t *Tail[F, T]) Full() bool {
	full := len(t.values) == cap(t.values)
	if full {
		t.dropped.Add(1)
	}
	return full
}

// Put hands v to the reader, or drops it if there is no room.
func (t *Tail[F, T]) Put(v T) {
	select {
	case t.values <- v:
	default:
		t.dropped.Add(1)
	}
}

// Take returns the oldest value. ok is false if there is none.
func (t *Tail[F, T]) Take() (v T, ok bool) {
	select {
	case v = <-t.values:
		return v, true
	default:
		return v, false
	}
}

// Dropped returns how many values were dropped since its last call.
func (t *Tail[F, T]) Dropped() uint64 { return t.dropped.Swap(0) }
