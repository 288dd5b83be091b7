package redisconn

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// started are calls of Start, and how often each was done.
type started struct {
	calls []*Call
	done  []atomic.Int64
	open  sync.WaitGroup
}

// startCalls starts n calls of the script count on key, with arguments from 0.
func startCalls(c *Client, key string, n int) *started {
	s := &started{calls: make([]*Call, n), done: make([]atomic.Int64, n)}
	s.open.Add(n)
	for i := range n {
		s.calls[i] = &Call{Script: count, Keys: []string{key}, Args: []any{i}}
		c.Start(s.calls[i], func() {
			s.done[i].Add(1)
			s.open.Done() // panics when it is called too often
		})
	}
	return s
}

// occupy starts calls of the script count on key until each connection has one under way. There is one
// connection, unless the first replies took long. The caller must have waited for settled, and paused
// the primary.
func occupy(t *testing.T, c *Client, key string) (all []*started) {
	t.Helper()
	q := c.table.Load().queues[0]
	until(t, "a pipeline on each connection", func() bool {
		q.mu.Lock()
		left, waits := q.pool.linked-q.pool.out, q.calls.Len() > 0
		q.mu.Unlock()
		if left > 0 && !waits {
			all = append(all, startCalls(c, key, 1))
		}
		return left == 0 && !waits
	})
	return all
}

// wait waits until all are done.
func (s *started) wait(t *testing.T) {
	t.Helper()
	until(t, "the end of all started calls", func() bool {
		for i := range s.done {
			if s.done[i].Load() == 0 {
				return false
			}
		}
		return true
	})
	s.open.Wait()
}

func TestStart(t *testing.T) {
	s := redistest.Shared(t)
	c := open(t, Options{Addresses: []string{s.Addr}})
	const calls = 1000 // several pipelines
	all := startCalls(c, "started", calls)
	all.wait(t)
	for i, call := range all.calls {
		if call.Err != nil || call.Reply != int64(1) || call.Incarnation == 0 {
			t.Errorf("call %d = %v, %v of incarnation %d, want 1 of some incarnation", i, call.Reply, call.Err, call.Incarnation)
		}
	}
	if n := s.Client().HLen(t.Context(), "started").Val(); n != calls {
		t.Errorf("%d calls had an effect, want %d", n, calls)
	}
}

// TestStartFailsAtOnce has calls that cannot be sent: they are done when Start returns.
func TestStartFailsAtOnce(t *testing.T) {
	for name, call := range map[string]*Call{
		"no key":         {Script: count},
		"wrong argument": {Script: count, Keys: []string{"k"}, Args: []any{1.5}},
		"no primary":     {Script: count, Keys: []string{"k"}},
	} {
		done := false
		open(t, Options{}).Start(call, func() { done = true })
		if !done || call.Err == nil {
			t.Errorf("%s: done = %t, error = %v, want true and an error", name, done, call.Err)
		}
	}
}

// TestStartBeforeFirstLoad has calls wait for the first table instead of failing.
func TestStartBeforeFirstLoad(t *testing.T) {
	cluster := redistest.SharedCluster(t)
	c := open(t, Options{Mode: Cluster, Addresses: cluster.Addrs})
	all := startCalls(c, "early", 10)
	all.wait(t)
	for i, call := range all.calls {
		if call.Err != nil || call.Reply != int64(1) {
			t.Errorf("call %d = %v, %v, want 1", i, call.Reply, call.Err)
		}
	}
}

// TestStartWithinDone has each call start the next one.
func TestStartWithinDone(t *testing.T) {
	s := redistest.Shared(t)
	c := open(t, Options{Addresses: []string{s.Addr}, PoolSize: 1})
	var left atomic.Int64
	left.Store(50)
	var next func()
	next = func() {
		if n := left.Add(-1); n >= 0 {
			c.Start(&Call{Script: count, Keys: []string{"chain"}, Args: []any{n}}, next)
		}
	}
	next()
	until(t, "the effect of 50 calls", func() bool { return s.Client().HLen(t.Context(), "chain").Val() == 50 })
}

// TestStartToHangingPrimary has calls written over all connections, which hang. Other calls are queued
// behind them, and are never sent.
func TestStartToHangingPrimary(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, PoolSize: 1})
	settled(t, c)
	s.Pause()
	begin := time.Now()
	written := occupy(t, c, "written")
	waiting := startCalls(c, "waiting", 10)
	until(t, "an open breaker", func() bool { return state(c) == Open })
	if silent := time.Since(begin); silent < silentTimeouts*defaultTimeout || silent >= detached {
		t.Errorf("the breaker opened after %v, want after %v, before the connection is closed", silent, silentTimeouts*defaultTimeout)
	}
	for _, all := range append(written, waiting) {
		all.wait(t)
		for _, call := range all.calls {
			if call.Err == nil || call.Reply != nil || call.Incarnation != 0 {
				t.Errorf("a call to a hanging primary = %v, %v of incarnation %d, want an error", call.Reply, call.Err, call.Incarnation)
			}
		}
	}
	if took := time.Since(begin); took > 3*detached {
		t.Errorf("the calls were done after %v, want after about %v", took, 2*detached)
	}
	s.Resume()
	ready(t, c, "after")
	if n := s.Client().HLen(t.Context(), "waiting").Val(); n != 0 {
		t.Errorf("%d calls were sent too late", n)
	}
}

// TestStartOutlivesTimeout has a call answered after Options.Timeout, and within the second.
func TestStartOutlivesTimeout(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}})
	settled(t, c)
	s.Pause()
	written := occupy(t, c, "late")
	until(t, "an open breaker", func() bool { return state(c) == Open })
	s.Resume()
	for i, all := range written {
		all.wait(t)
		if call := all.calls[0]; call.Err != nil || call.Reply == nil {
			t.Errorf("the call of connection %d = %v, %v, want its reply", i, call.Reply, call.Err)
		}
	}
	if n, err := s.Client().HGet(t.Context(), "late", "0").Int(); n != len(written) || err != nil {
		t.Errorf("%d calls had an effect, %v, want %d", n, err, len(written))
	}
}

// TestStartRetryEnds has the server refuse a call for ever.
func TestStartRetryEnds(t *testing.T) {
	f := newFake(t, nil, func([]string) string { return "-LOADING Redis is loading the dataset in memory\r\n" })
	c := open(t, Options{Addresses: []string{f.addr}, Breaker: staysClosed})
	begin := time.Now()
	all := startCalls(c, "k", 1)
	all.wait(t)
	if took := time.Since(begin); took < detached || took > 2*detached || all.calls[0].Err != ErrUnsent {
		t.Errorf("after %v: error = %v, want %v after %v", took, all.calls[0].Err, ErrUnsent, detached)
	}
}

// TestCloseEndsStarted closes the client while calls are in each state that they can be in.
func TestCloseEndsStarted(t *testing.T) {
	for _, test := range closeCases {
		t.Run(test.name, func(t *testing.T) {
			s := redistest.NewServer(t)
			c := New(Options{Addresses: []string{s.Addr}})
			ready(t, c, "k")
			test.prep(s)
			all := startCalls(c, "closed", 2*maxBatch)
			c.Close()
			for i, call := range all.calls {
				if n := all.done[i].Load(); n != 1 {
					t.Fatalf("call %d was done %d times when Close returned, want once", i, n)
				}
				if test.name == "hanging" && call.Err != ErrClosed {
					t.Errorf("call %d: error = %v, want %v", i, call.Err, ErrClosed)
				}
			}
			after := startCalls(c, "closed", 1)
			if n := after.done[0].Load(); n != 1 || after.calls[0].Err != ErrClosed {
				t.Errorf("after Close: done %d times with %v, want once with %v", n, after.calls[0].Err, ErrClosed)
			}
			if stacks := goroutines(); stacks != "" {
				t.Errorf("goroutines still run:\n%s", stacks)
			}
		})
	}
}

// TestCloseEndsRetries closes the client while calls wait to be retried, and others start.
func TestCloseEndsRetries(t *testing.T) {
	f := newFake(t, nil, func([]string) string { return "-LOADING Redis is loading the dataset in memory\r\n" })
	c := New(Options{Addresses: []string{f.addr}, Breaker: staysClosed})
	var starters sync.WaitGroup
	for range 4 {
		starters.Go(func() {
			for {
				call := &Call{Script: count, Keys: []string{"k"}}
				done := make(chan struct{})
				c.Start(call, func() { close(done) })
				<-done
				if call.Err == ErrClosed {
					return
				}
				if !errors.Is(call.Err, ErrTimeout) {
					t.Errorf("error = %v, want %v or %v", call.Err, ErrTimeout, ErrClosed)
				}
			}
		})
	}
	waiting := startCalls(c, "k", 10)
	until(t, "a retry", func() bool { return len(f.commands()) > 20 })
	c.Close()
	for i := range waiting.done {
		if n := waiting.done[i].Load(); n != 1 {
			t.Errorf("call %d was done %d times when Close returned, want once", i, n)
		}
	}
	starters.Wait()
}

// TestCloseBeforeFirstLoad has the only node hang.
func TestCloseBeforeFirstLoad(t *testing.T) {
	s := redistest.NewServer(t)
	s.Pause()
	c := New(Options{Mode: Cluster, Addresses: []string{s.Addr}})
	all := startCalls(c, "k", 3)
	c.Close()
	for i, call := range all.calls {
		if n := all.done[i].Load(); n != 1 || call.Err != ErrClosed {
			t.Errorf("call %d was done %d times with %v, want once with %v", i, n, call.Err, ErrClosed)
		}
	}
}
