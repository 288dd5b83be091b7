package redisconn

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestWait checks how long callers wait, with a timeout of 100 ms, for calls that are written at the
// given times or never.
func TestWait(t *testing.T) {
	const ms, never = time.Millisecond, -1
	for _, test := range []struct {
		name    string
		written []time.Duration // when each call is written, from the call of Do on
		lag     time.Duration   // lag of the process, as a watcher has measured it
		want    time.Duration
	}{
		{"not written", []time.Duration{never}, 0, 101 * ms},
		{"written at once", []time.Duration{0}, 0, 101 * ms},
		{"written late", []time.Duration{60 * ms}, 0, 161 * ms},
		{"written when the wait ends", []time.Duration{100 * ms}, 0, 201 * ms},
		{"the last of several", []time.Duration{0, 30 * ms, never}, 0, 131 * ms},
		{"by a process that is late", []time.Duration{60 * ms}, 10 * ms, 160*ms + lagFactor*10*ms},
		{"by one that is very late", []time.Duration{60 * ms}, 500 * ms, 260 * ms},
		{"written last by one that is late", []time.Duration{150 * ms}, 500 * ms, 300 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := New(Options{Timeout: 100 * ms})
			defer c.Close()
			q := newTestQueue(t)
			q.lag.longest.Store(int64(test.lag))
			c.table.Store(&table{queues: []*queue{q}})
			w := wait{client: c, began: time.Now(), pendings: make([]pending, len(test.written))}
			for i, at := range test.written {
				if at >= 0 {
					time.AfterFunc(at, func() { now := time.Now(); w.pendings[i].wrote(&now) })
				}
			}
			time.Sleep(100 * ms)
			synctest.Wait()
			for d, more := w.more(time.Now()); more; d, more = w.more(time.Now()) {
				time.Sleep(d)
				synctest.Wait()
			}
			if got := time.Since(w.began); got != test.want {
				t.Errorf("%s: the caller waited %v, want %v", test.name, got, test.want)
			}
		})
	}
}

// TestLagOfClient has watchers that are punctual, late, and overdue.
func TestLagOfClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		defer c.Close()
		punctualOne, lateOne := newTestQueue(t), newTestQueue(t)
		c.table.Store(&table{queues: []*queue{punctualOne, lateOne}})
		for _, step := range []struct{ late, want time.Duration }{
			{0, 0},
			{punctual / 2, 0},
			{3 * time.Millisecond, lagFactor * 3 * time.Millisecond},
		} {
			lateOne.lag.longest.Store(int64(step.late))
			if got := c.Lag(); got != step.want {
				t.Errorf("with a watcher that is %v late: %v, want %v", step.late, got, step.want)
			}
		}
		time.Sleep(time.Second)
		lateOne.lag.expect(time.Now())
		time.Sleep(20 * time.Millisecond)
		if got, want := c.Lag(), lagFactor*20*time.Millisecond; got != want {
			t.Errorf("with a watcher that is overdue by 20 ms: %v, want %v", got, want)
		}
	})
}

// TestWritten has a call written, and written again after SCRIPT FLUSH.
func TestWritten(t *testing.T) {
	replies := []string{"-" + noSuchScript + "\r\n", ":1\r\n"}
	f := newFake(t, nil, func([]string) string {
		reply := replies[0]
		replies = replies[1:]
		return reply
	})
	c := open(t, Options{Addresses: []string{f.addr}})
	written, done := 0, make(chan struct{})
	call := &Call{Script: count, Keys: []string{"k"}, Written: func() { written++ }}
	c.Start(call, func() {
		if written != 2 {
			t.Errorf("Written was called %d times before the call was done, want twice", written)
		}
		close(done)
	})
	<-done
	if call.Err != nil {
		t.Error(call.Err)
	}
	s := redistest.NewServer(t)
	s.Pause()
	c = open(t, Options{Addresses: []string{s.Addr}})
	unsent := &Call{Script: count, Keys: []string{"k"}, Written: func() { t.Error("Written was called") }}
	if c.Do(t.Context(), unsent); !errors.Is(unsent.Err, ErrUnsent) {
		t.Errorf("with a server that hangs: error = %v, want %v", unsent.Err, ErrUnsent)
	}
}
