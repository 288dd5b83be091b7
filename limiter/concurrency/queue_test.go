package concurrency

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestQueueOrder pops from queues with room for ten requests. While there are more than eight, the
// newest comes first.
func TestQueueOrder(t *testing.T) {
	for n, want := range map[int]string{3: "0 1 2", 8: "0 1 2 3 4 5 6 7", 9: "8 0 1 2 3 4 5 6 7", 10: "9 8 0 1 2 3 4 5 6 7"} {
		q, names := queue{most: 10}, map[*waiter]string{}
		for i := range n {
			w := new(waiter)
			names[w] = fmt.Sprint(i)
			q.push(w)
		}
		var got []string
		for range n {
			got = append(got, names[q.pop()])
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("order of %d = %s, want %s", n, got, want)
		}
	}
}

// TestTurns has requests come a millisecond apart under a limit of one in flight. Each takes 100 ms
// once it is its turn.
func TestTurns(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		requests int
		wait     time.Duration
		want     string // the requests that were admitted, each with the ms that it has waited
	}{
		{4, time.Second, "0:0 1:99 2:198 3:297"},
		{4, 250 * ms, "0:0 1:99 2:198"},
		{12, time.Second, "0:0 10:90 9:191 1:299 2:398 3:497 4:596 5:695 6:794 7:893 8:992"}, // 11 finds the queue full
	} {
		synctest.Test(t, func(t *testing.T) {
			s, rule, key := New(Options{}), &Rule{ID: 1, Limit: 1}, []byte("key")
			var mu sync.Mutex
			var got []string
			var all sync.WaitGroup
			for i := range test.requests {
				all.Go(func() {
					time.Sleep(time.Duration(i) * ms)
					p, d, err := s.AcquireInTurn(t.Context(), time.Now(), rule, key, test.wait)
					if err != nil || !d.OK {
						return
					}
					mu.Lock()
					got = append(got, fmt.Sprintf("%d:%d", i, p.Waited().Milliseconds()))
					mu.Unlock()
					time.Sleep(100 * ms)
					p.Release(time.Now())
				})
			}
			all.Wait()
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("admitted of %d = %s, want %s", test.requests, got, test.want)
			}
			if requests, _ := s.InFlight(time.Now(), rule, key); requests != 0 || s.queued.Load() != 0 {
				t.Errorf("%d requests are in flight and %d wait after all have ended", requests, s.queued.Load())
			}
		})
	}
}

// TestNobodyOvertakes has requests that do not wait come while another one waits, under the limit
// and under a raised one.
func TestNobodyOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, key := New(Options{}), []byte("key")
		one, two := &Rule{ID: 1, Limit: 1}, &Rule{ID: 1, Limit: 2}
		if _, d, _ := s.Acquire(t.Context(), time.Now(), one, key); !d.OK {
			t.Fatal("the first request is denied")
		}
		waited := make(chan bool)
		go func() {
			_, d, _ := s.AcquireInTurn(t.Context(), time.Now(), one, key, time.Minute)
			waited <- d.OK
		}()
		synctest.Wait()
		if _, d, _ := s.Acquire(t.Context(), time.Now(), one, key); d.OK {
			t.Error("a request has overtaken the one that waits")
		}
		if _, d, _ := s.Acquire(t.Context(), time.Now(), two, key); d.OK {
			t.Error("a request has overtaken the one that waits when the limit was raised")
		}
		if ok := <-waited; !ok {
			t.Error("the request that waits is denied, want it admitted when the limit is raised")
		}
	})
}

// TestWaiterLeaves has clients leave while their requests wait.
func TestWaiterLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rule, key := New(Options{}), &Rule{ID: 1, Limit: 10_000}, []byte("key")
		held := make([]Permit, rule.Limit)
		for i := range held {
			held[i], _, _ = s.Acquire(t.Context(), time.Now(), rule, key)
		}
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		left, full := 0, 0
		for range MostQueued/2 + 100 {
			all.Go(func() {
				_, d, err := s.AcquireInTurn(ctx, time.Now(), rule, key, time.Minute)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, context.Canceled):
					left++
				case err == nil && !d.OK:
					full++
				}
			})
		}
		synctest.Wait()
		if full != 100 || s.queued.Load() != MostQueued/2 {
			t.Errorf("%d requests found the queue full, and %d wait, want 100 and %d", full, s.queued.Load(), MostQueued/2)
		}
		leave()
		all.Wait()
		if left != MostQueued/2 || s.queued.Load() != 0 {
			t.Errorf("%d requests have left, and %d wait, want %d and none", left, s.queued.Load(), MostQueued/2)
		}
		for _, p := range held {
			p.Release(time.Now())
		}
	})
}
