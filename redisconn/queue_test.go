package redisconn

import (
	"sync"
	"testing"
	"time"
)

func newTestQueue(t *testing.T) *queue {
	return newQueue(t.Context(), "nowhere", func() {})
}

// pendingUntil returns a held call for a caller that waits for d.
func pendingUntil(d time.Duration) *pending {
	return &pending{deadline: time.Now().Add(d), caller: newWaiter(1)}
}

func TestQueueIsInOrder(t *testing.T) {
	q := newTestQueue(t)
	var want []*pending
	for range maxBatch + 3 {
		p := pendingUntil(time.Minute)
		want = append(want, p)
		if err := q.push(p); err != nil {
			t.Fatal(err)
		}
	}
	got := q.take(nil)
	if len(got) != maxBatch {
		t.Errorf("the first batch has %d calls, want %d", len(got), maxBatch)
	}
	got = append(got, q.take(nil)...)
	if len(got) != len(want) {
		t.Fatalf("%d calls were taken, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("call %d is another than was pushed", i)
		}
	}
}

func TestTakeLeavesOutWhatNobodyWaitsFor(t *testing.T) {
	q := newTestQueue(t)
	gone, late, waiting := pendingUntil(time.Minute), pendingUntil(-time.Second), pendingUntil(time.Minute)
	for _, p := range []*pending{gone, late, waiting} {
		if err := q.push(p); err != nil {
			t.Fatal(err)
		}
	}
	if gone.leave() {
		t.Error("a call that was not answered is said to be")
	}
	if got := q.take(nil); len(got) != 1 || got[0] != waiting {
		t.Errorf("%d calls were taken, want the one that is waited for", len(got))
	}
	if !late.leave() || late.err != ErrTimeout {
		t.Errorf("a call past its deadline: error = %v, want %v", late.err, ErrTimeout)
	}
	if n := q.dead.Load(); n != 0 {
		t.Errorf("dead = %d in an empty queue", n)
	}
}

// A locksmith is a caller that finds out whether the queue is locked when it is told of the answer.
type locksmith struct {
	q      *queue
	locked bool
}

func (l *locksmith) answered() {
	if l.locked = !l.q.mu.TryLock(); !l.locked {
		l.q.mu.Unlock()
	}
}

func TestTakeAnswersWithNoLockHeld(t *testing.T) {
	q := newTestQueue(t)
	l := &locksmith{q: q}
	late := &pending{deadline: time.Now().Add(-time.Second), caller: l}
	if err := q.push(late); err != nil {
		t.Fatal(err)
	}
	q.take(nil)
	if late.err != ErrTimeout || l.locked {
		t.Errorf("a late call: error = %v, told with the queue locked: %t; want %v, false", late.err, l.locked, ErrTimeout)
	}
}

// TestFullQueue also has callers that leave make room at once, and leave no memory behind.
func TestFullQueue(t *testing.T) {
	q := newTestQueue(t)
	var calls []*pending
	for range 10 {
		for range maxPending {
			p := pendingUntil(time.Minute)
			if err := q.push(p); err != nil {
				t.Fatalf("with %d live calls: %v", q.liveLocked(), err)
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
	if n := cap(q.calls); n > 4*maxPending {
		t.Errorf("the queue has room for %d calls, of which at most %d ever had a caller", n, maxPending)
	}
	if got := q.take(nil); len(got) != 0 || q.dead.Load() != 0 {
		t.Errorf("%d calls were taken and %d are dead, though all callers left", len(got), q.dead.Load())
	}
}

func TestClosedQueue(t *testing.T) {
	q := newTestQueue(t)
	p := pendingUntil(time.Minute)
	if err := q.push(p); err != nil {
		t.Fatal(err)
	}
	q.close()
	<-p.caller.(*waiter).done
	if p.err != ErrClosed {
		t.Errorf("what was pending: error = %v, want %v", p.err, ErrClosed)
	}
	if err := q.push(pendingUntil(time.Minute)); err != ErrClosed {
		t.Errorf("push: error = %v, want %v", err, ErrClosed)
	}
	if q.await() {
		t.Error("the workers of a closed queue go on")
	}
}

// TestLeavingWhileTaken has callers leave while a worker takes, refuses and puts back: each call is either answered or left,
// and the count of the dead comes out even.
func TestLeavingWhileTaken(t *testing.T) {
	q := newTestQueue(t)
	const callers, each = 8, 2000
	var leaving, working sync.WaitGroup
	answeredOnes := make(chan int, callers)
	for range callers {
		leaving.Go(func() {
			n := 0
			for i := range each {
				p := pendingUntil(time.Minute)
				if err := q.push(p); err != nil {
					t.Error(err)
					return
				}
				if i%3 == 0 {
					<-p.caller.(*waiter).done
				}
				if p.leave() {
					n++
					if p.reply != "reply" {
						t.Errorf("reply = %v, want that of the worker", p.reply)
					}
				} else if i%3 == 0 {
					t.Error("a call whose caller was told of an answer has none")
				}
			}
			answeredOnes <- n
		})
	}
	for range 2 {
		working.Go(func() {
			for turn := 0; q.await(); turn++ {
				for i, p := range q.take(nil) {
					if (i+turn)%2 == 0 {
						p.answer("reply", nil)
					} else if err := q.push(p); err != nil {
						p.answer(nil, err)
					}
				}
			}
		})
	}
	leaving.Wait()
	q.close()
	working.Wait()
	total := 0
	for range callers {
		total += <-answeredOnes
	}
	if least := callers * ((each + 2) / 3); total < least || total > callers*each {
		t.Errorf("%d calls were answered, want between %d and %d", total, least, callers*each)
	}
	if n := q.dead.Load(); n != 0 {
		t.Errorf("dead = %d in an empty queue", n)
	}
}
