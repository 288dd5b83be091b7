package reservation

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var name = []byte("key")

// A limit admits as many more events as left says.
type limit struct {
	sync.Mutex
	left int
}

func (l *limit) take() bool {
	l.Lock()
	defer l.Unlock()
	if l.left == 0 {
		return false
	}
	l.left--
	return true
}

// request takes one event. If it must, it waits for a reservation. It reports whether it was admitted.
func request(ctx context.Context, t *Table, l *limit) bool {
	since := t.Settled()
	ok := !t.HasWaiters(1, name) && l.take()
	if !ok {
		w := t.Join(1, name, since, time.Now().Add(Wait))
		for w != nil && w.Next(ctx) && !ok {
			if ok = l.take(); ok {
				break
			}
		}
		w.Leave(ok)
	}
	if ok {
		t.Reserve(1, name)
	}
	return ok
}

// settle ends a reservation. Its event goes back to l if back is true.
func (l *limit) settle(t *Table, back bool) {
	if back {
		l.Lock()
		l.left++
		l.Unlock()
	}
	t.Settle(1, name)
}

// TestFirstComeFirstServed has requests wait under a limit that admits two at once.
func TestFirstComeFirstServed(t *testing.T) {
	for _, shared := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			table, l := New(shared), &limit{left: 2}
			var (
				mu    sync.Mutex
				order []int
				wg    sync.WaitGroup
			)
			for i := range 12 {
				wg.Go(func() {
					if !request(t.Context(), table, l) {
						t.Errorf("shared %t: request %d is rejected", shared, i)
						return
					}
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					time.Sleep(100 * time.Millisecond)
					l.settle(table, true)
				})
				synctest.Wait()
			}
			wg.Wait()
			if !slices.IsSorted(order) {
				t.Errorf("shared %t: order = %v, want as they came", shared, order)
			}
			if len(table.queues) > 0 || table.waiting != 0 {
				t.Errorf("shared %t: %d keys and %d requests are left, want none", shared, len(table.queues), table.waiting)
			}
		})
	}
}

// TestNothingComesBack has reservations that all count. If the table is not shared, the requests that
// wait are rejected at once then. If it is shared, they are rejected after Wait, and later requests do
// not wait for a while.
func TestNothingComesBack(t *testing.T) {
	for _, shared := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			table, l := New(shared), &limit{left: 1}
			request(t.Context(), table, l)
			time.AfterFunc(300*time.Millisecond, func() { l.settle(table, false) })
			want := 300 * time.Millisecond
			if shared {
				want = Wait
			}
			rejectedAfter := func(want time.Duration) {
				t.Helper()
				begin := time.Now()
				if request(t.Context(), table, l) || time.Since(begin) != want {
					t.Errorf("shared %t: a request is admitted, or rejected after %v, want %v", shared, time.Since(begin), want)
				}
			}
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() { rejectedAfter(want) })
			}
			wg.Wait()
			rejectedAfter(0)
			time.Sleep(quietFor)
			if shared {
				rejectedAfter(Wait)
			} else {
				rejectedAfter(0)
			}
		})
	}
}

// TestOtherNodesReservation has a reservation of another node come back unnoticed. The first request
// that waits finds out.
func TestOtherNodesReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, l := New(true), new(limit)
		time.AfterFunc(500*time.Millisecond, func() {
			l.Lock()
			l.left = 3
			l.Unlock()
		})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if !request(t.Context(), table, l) {
					t.Error("a request is rejected, want it admitted when the other node's has ended")
				}
				table.Settle(1, name)
			})
		}
		wg.Wait()
	})
}

// TestMissedSettle has a reservation come back between the denial of a request and its wait.
func TestMissedSettle(t *testing.T) {
	table := New(false)
	table.Reserve(1, name)
	since := table.Settled()
	table.Settle(1, name)
	w := table.Join(1, name, since, time.Now().Add(time.Hour))
	if w == nil || !w.Next(t.Context()) {
		t.Fatal("the request does not try again, want it to")
	}
	if w.Next(t.Context()) {
		t.Error("the request tries a third time, want it to give up")
	}
	w.Leave(false)
}

// TestWaitIsBounded checks that the number of waiting requests of a key is bounded, and that a request
// stops waiting when its client leaves.
func TestWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := New(false)
		table.Reserve(1, name)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range mostOfKey {
			w := table.Join(1, name, 0, time.Now().Add(Wait))
			wg.Go(func() {
				if w.Next(ctx) {
					t.Error("a request whose client has left tries again")
				}
				w.Leave(false)
			})
		}
		if table.Join(1, name, 0, time.Now().Add(Wait)) != nil {
			t.Errorf("more than %d requests of a key wait", mostOfKey)
		}
		cancel()
		wg.Wait()
		if w := table.Join(1, name, 0, time.Now().Add(Wait)); w == nil {
			t.Error("nobody may wait after the others have left")
		} else {
			w.Leave(false)
		}
		table.Settle(1, name)
		if len(table.queues) != 0 || table.waiting != 0 {
			t.Errorf("%d keys and %d requests are left, want none", len(table.queues), table.waiting)
		}
	})
}
