package concurrency

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestMemory has requests of two keys under a limit of 2.
func TestMemory(t *testing.T) {
	s, rule, now := New(Options{}), &Rule{ID: 1, Limit: 2}, time.Now()
	acquire := func(key string, ok bool, remaining int64) Permit {
		t.Helper()
		p, d, err := s.Acquire(t.Context(), now, rule, []byte(key))
		if err != nil || d.OK != ok || d.Limit != 2 || d.Remaining != remaining || d.Source != limiter.FromStore {
			t.Errorf("acquire for %s = %+v, %v, want OK = %t, %d remaining of 2", key, d, err, ok, remaining)
		}
		return p
	}
	first := acquire("a", true, 1)
	acquire("a", true, 0)
	acquire("a", false, 0)
	acquire("b", true, 1)
	first.Release(now.Add(3 * time.Second))
	acquire("a", true, 0)

	_, d, _ := s.Acquire(t.Context(), now, rule, []byte("a"))
	if got := time.Duration(d.RetryAt-d.At) * time.Microsecond; got != 3*time.Second || d.Breach || d.ResetAt != d.RetryAt {
		t.Errorf("second denial = %+v, want it to be no breach, with a retry after 3 s", d)
	}
	if requests, leased := s.InFlight(now, rule, []byte("a")); requests != 2 || leased != 0 {
		t.Errorf("in flight = %d, leased = %d, want 2 and none", requests, leased)
	}
}

// TestMedian checks the median of the last durations, of which nine count.
func TestMedian(t *testing.T) {
	var d durations
	for i, test := range []struct{ took, median int64 }{
		{5_000_000, 5_000_000}, {1_000_000, 5_000_000}, {2_000_000, 2_000_000}, {9_000_000, 5_000_000}, {3_000_000, 3_000_000},
	} {
		if d.add(test.took); d.median() != test.median {
			t.Errorf("median of %d durations = %d µs, want %d", i+1, d.median(), test.median)
		}
	}
	for range 9 {
		d.add(-1)
	}
	if got := d.median(); got != 0 {
		t.Errorf("median after nine of no time = %d µs, want 0", got)
	}
}

// TestParallel has many goroutines take and release permits of the same keys.
func TestParallel(t *testing.T) {
	s, rule := New(Options{}), &Rule{ID: 1, Limit: 3}
	var inFlight [4]atomic.Int64
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := range 500 {
				k := (g + i) % len(inFlight)
				p, d, _ := s.Acquire(context.Background(), time.Now(), rule, []byte{byte(k)})
				if !d.OK {
					continue
				}
				if n := inFlight[k].Add(1); n > rule.Limit {
					t.Errorf("%d requests in flight, want at most %d", n, rule.Limit)
				}
				inFlight[k].Add(-1)
				p.Release(time.Now())
			}
		})
	}
	all.Wait()
	for k := range inFlight {
		if n, _ := s.InFlight(time.Now(), rule, []byte{byte(k)}); n != 0 {
			t.Errorf("%d requests in flight after all have ended", n)
		}
	}
}

// TestIdleKeysGo has a request of each of many keys begin and end. Unused accounts are removed.
func TestIdleKeysGo(t *testing.T) {
	s, rule, now := New(Options{}), &Rule{ID: 1, Limit: 3}, time.Now()
	for i := range 100_000 {
		p, _, _ := s.Acquire(t.Context(), now, rule, fmt.Append(nil, i))
		p.Release(now)
	}
	accounts := 0
	for i := range s.shards {
		accounts += len(s.shards[i].accounts)
	}
	if most := leastCrowded * shards; accounts > most {
		t.Errorf("accounts = %d, want at most %d without requests in flight", accounts, most)
	}
}

// A silentLender never answers.
type silentLender struct{ requests chan *LeaseRequest }

func (l silentLender) Exchange(r *LeaseRequest, _ func(Grant, error)) { l.requests <- r }
func (silentLender) Refusal([]byte) error                             { return nil }

// TestClientGone has a client leave while its request waits for the lender, and another client wait
// in vain.
func TestClientGone(t *testing.T) {
	l := silentLender{make(chan *LeaseRequest, 1)}
	s, rule := New(Options{Lender: l, Timeout: 5 * time.Millisecond}), &Rule{ID: 1, Limit: 4, OnOutage: limiter.OutageClosed}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, d, err := s.Acquire(ctx, time.Now(), rule, []byte("a")); d.OK || !errors.Is(err, context.Canceled) {
		t.Errorf("acquire = %+v, %v, want %v", d, err, context.Canceled)
	}
	if _, d, err := s.Acquire(t.Context(), time.Now(), rule, []byte("a")); d.OK || !errors.Is(err, limiter.ErrLate) || d.Source != limiter.FromLate {
		t.Errorf("acquire = %+v, %v, want %v", d, err, limiter.ErrLate)
	}
	if r := <-l.requests; r.Need != 1 || len(l.requests) > 0 {
		t.Errorf("request = %+v, and %d more, want one for the first client", r, len(l.requests))
	}
	s.Close()
}

// TestAllocations checks that requests of a known key are decided without allocations.
func TestAllocations(t *testing.T) {
	s, rule, now, key := New(Options{}), &Rule{ID: 1, Limit: 1}, time.Now(), []byte("key")
	n := testing.AllocsPerRun(100, func() {
		p, _, _ := s.Acquire(t.Context(), now, rule, key)
		_, _, _ = s.Acquire(t.Context(), now, rule, key) // this request is denied
		p.Release(now)
	})
	if n > 0 {
		t.Errorf("allocations = %v, want none", n)
	}
	s, rule = New(Options{Lender: generousLender{}}), &Rule{ID: 1, Limit: 1000}
	defer s.Close()
	n = testing.AllocsPerRun(100, func() {
		p, d, err := s.Acquire(t.Context(), time.Now(), rule, key)
		if err != nil || !d.OK {
			t.Errorf("acquire = %+v, %v, want a permit", d, err)
		}
		p.Release(time.Now())
	})
	if n > 0 {
		t.Errorf("allocations with leased permits = %v, want none", n)
	}
}

// A generousLender grants at once what a request needs and wants.
type generousLender struct{}

func (generousLender) Exchange(r *LeaseRequest, answered func(Grant, error)) {
	go answered(Grant{Permits: r.Hold + r.Need + r.Want, Free: r.Limit / 2}, nil)
}
func (generousLender) Refusal([]byte) error { return nil }

func BenchmarkAcquire(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchmarkAcquire(b, Options{}) })
	b.Run("leased", func(b *testing.B) { benchmarkAcquire(b, Options{Lender: generousLender{}}) })
}

// benchmarkAcquire has each goroutine begin and end requests of a key of its own.
func benchmarkAcquire(b *testing.B, o Options) {
	s, rule := New(o), &Rule{ID: 1, Limit: 1000}
	b.Cleanup(s.Close)
	var keys atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		key, now := fmt.Append(nil, keys.Add(1)), time.Now()
		for pb.Next() {
			p, _, _ := s.Acquire(context.Background(), now, rule, key)
			p.Release(now)
		}
	})
}
