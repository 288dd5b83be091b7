package redisconn

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func newTestQueue(t *testing.T) *queue {
	o := Options{}.withDefaults()
	q := newQueue(t.Context(), "nowhere", &o, func() {})
	q.hire = func() {}
	return q
}

// newTestWorker returns a worker of q, which has a connection.
func newTestWorker(q *queue) *worker { return &worker{queue: q, link: new(link)} }

// pendingUntil returns a held call whose deadline is after d.
func pendingUntil(d time.Duration) *pending {
	return &pending{deadline: time.Now().Add(d), onDone: func() {}}
}

func TestQueueKeepsOrder(t *testing.T) {
	q := newTestQueue(t)
	var want []*pending
	for range maxBatch + 3 {
		p := pendingUntil(time.Minute)
		want = append(want, p)
		if err := q.push(p); err != nil {
			t.Fatal(err)
		}
	}
	got := q.take()
	if len(got) != maxBatch {
		t.Errorf("the first batch has %d calls, want %d", len(got), maxBatch)
	}
	got = append(got, q.take()...)
	if len(got) != len(want) {
		t.Fatalf("%d calls were taken, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("call %d is another than was pushed", i)
		}
	}
}

func TestTakeSkipsAbandonedAndLate(t *testing.T) {
	q := newTestQueue(t)
	gone, late, waiting := pendingUntil(time.Minute), pendingUntil(-time.Second), pendingUntil(time.Minute)
	for _, p := range []*pending{gone, late, waiting} {
		if err := q.push(p); err != nil {
			t.Fatal(err)
		}
	}
	if answered, unsent := gone.leave(); answered || !unsent {
		t.Errorf("leave reports answered %t, unsent %t for a queued call, want false, true", answered, unsent)
	}
	if got := q.take(); len(got) != 1 || got[0] != waiting {
		t.Errorf("%d calls were taken, want the one whose caller waits", len(got))
	}
	if answered, _ := late.leave(); !answered || late.err != ErrUnsent {
		t.Errorf("a call past its deadline: error = %v, want %v", late.err, ErrUnsent)
	}
	if n := q.calls.Len(); n != 0 {
		t.Errorf("%d calls are still queued, want none", n)
	}
}

func TestTakeAnswersWithoutLock(t *testing.T) {
	q := newTestQueue(t)
	locked := false
	late := pendingUntil(-time.Second)
	late.onDone = func() {
		if locked = !q.mu.TryLock(); !locked {
			q.mu.Unlock()
		}
	}
	if err := q.push(late); err != nil {
		t.Fatal(err)
	}
	q.take()
	if late.err != ErrUnsent || locked {
		t.Errorf("a late call: error = %v, answered with the queue locked: %t; want %v, false", late.err, locked, ErrUnsent)
	}
}

// TestFullQueue checks that the calls of callers that leave make room at once and are not kept in
// memory.
func TestFullQueue(t *testing.T) {
	q := newTestQueue(t)
	var calls []*pending
	for range 10 {
		for range maxPending {
			p := pendingUntil(time.Minute)
			if err := q.push(p); err != nil {
				t.Fatalf("with %d calls: %v", q.calls.Len(), err)
			}
			calls = append(calls, p)
		}
		if err := q.push(pendingUntil(time.Minute)); err != ErrBusy {
			t.Fatalf("one more: error = %v, want %v", err, ErrBusy)
		}
		for _, p := range calls {
			p.leave()
		}
		calls = calls[:0]
	}
	if n := q.calls.Len(); n != 0 {
		t.Errorf("%d calls are queued although all callers have left", n)
	}
	if got := q.take(); len(got) != 0 {
		t.Errorf("%d calls were taken although all callers have left", len(got))
	}
}

func TestClosedQueue(t *testing.T) {
	q := newTestQueue(t)
	p := pendingUntil(time.Minute)
	answered, done := latch(1)
	p.onDone = answered
	if err := q.push(p); err != nil {
		t.Fatal(err)
	}
	q.close()
	<-done
	if p.err != ErrClosed {
		t.Errorf("the queued call: error = %v, want %v", p.err, ErrClosed)
	}
	if err := q.push(pendingUntil(time.Minute)); err != ErrClosed {
		t.Errorf("push: error = %v, want %v", err, ErrClosed)
	}
	if _, ok := newTestWorker(q).next(nil); ok {
		t.Error("next goes on after close")
	}
}

// TestBreakerAnswersQueuedCalls has failures open the breaker while a call is queued.
func TestBreakerAnswersQueuedCalls(t *testing.T) {
	q := newTestQueue(t)
	p := pendingUntil(time.Minute)
	if err := q.push(p); err != nil {
		t.Fatal(err)
	}
	for q.breaker.admits() {
		if answered := p.state.Load() == done; answered {
			t.Fatal("the call was answered before the breaker opened")
		}
		q.count(errSlow)
	}
	if answered, _ := p.leave(); !answered || !errors.Is(p.err, ErrOpen) || !errors.Is(p.err, errSlow) {
		t.Errorf("answered = %t, error = %v, want %v with the reason", answered, p.err, ErrOpen)
	}
}

// TestFreeConnectionsEnd has workers wait for something to send. They end when their connections
// are not needed any more, and when all connections are made anew.
func TestFreeConnectionsEnd(t *testing.T) {
	const kept, surplus = 2, 3
	for name, test := range map[string]struct {
		end  func(q *queue)
		want int // workers that end
	}{
		"surplus": {func(q *queue) { q.shrink(time.Now()) }, surplus},
		"renewed": {func(q *queue) { q.reconnect() }, kept + surplus},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := newTestQueue(t)
			q.pool = newPool(kept, time.Now())
			var ended atomic.Int64
			var workers sync.WaitGroup
			for range kept + surplus {
				w := newTestWorker(q)
				w.connected = time.Now()
				q.pool.linked++
				workers.Go(func() {
					_, _ = w.next(nil)
					w.mu.Lock()
					w.pool.linked--
					w.mu.Unlock()
					ended.Add(1)
				})
			}
			synctest.Wait()
			time.Sleep(surplusFor)
			q.shrink(time.Now()) // counts free connections from here on
			time.Sleep(surplusFor)
			synctest.Wait()
			if n := ended.Load(); n != 0 {
				t.Errorf("%s: %d workers have ended before", name, n)
			}
			test.end(q)
			synctest.Wait()
			if n := int(ended.Load()); n != test.want {
				t.Errorf("%s: %d workers have ended, want %d", name, n, test.want)
			}
			q.close()
			workers.Wait()
		})
	}
}

// TestLeaveWhileTaken has callers leave while workers take calls, answer some and queue the others
// again. Each call is either answered or abandoned, and no call stays in the queue.
func TestLeaveWhileTaken(t *testing.T) {
	q := newTestQueue(t)
	const callers, each = 8, 2000
	var leaving, working sync.WaitGroup
	answered := make(chan int, callers)
	for range callers {
		leaving.Go(func() {
			n := 0
			for i := range each {
				p := pendingUntil(time.Minute)
				answered, done := latch(1)
				p.onDone = answered
				if err := q.push(p); err != nil {
					t.Error(err)
					return
				}
				if i%3 == 0 {
					<-done
				}
				if answered, _ := p.leave(); answered {
					n++
					if p.reply != "reply" {
						t.Errorf("reply = %v, want that of the worker", p.reply)
					}
				} else if i%3 == 0 {
					t.Error("leave reports no answer after onDone was called")
				}
			}
			answered <- n
		})
	}
	for range 2 {
		working.Go(func() {
			w := newTestWorker(q)
			for turn := 0; ; turn++ {
				todo, ok := w.next(nil)
				if !ok {
					return
				}
				for i, p := range todo.batch {
					if (i+turn)%2 == 0 {
						p.answer("reply", nil)
					} else if err := q.push(p); err != nil {
						p.answer(nil, err)
					}
				}
				w.endTask()
			}
		})
	}
	leaving.Wait()
	q.close()
	working.Wait()
	total := 0
	for range callers {
		total += <-answered
	}
	if least := callers * ((each + 2) / 3); total < least || total > callers*each {
		t.Errorf("%d calls were answered, want between %d and %d", total, least, callers*each)
	}
	if n := q.calls.Len(); n != 0 {
		t.Errorf("%d calls are still queued, want none", n)
	}
}
