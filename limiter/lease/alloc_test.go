//go:build !race

package lease

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestTakeDoesNotAllocate decides from accounts. The race detector allocates, so this test runs
// without it.
func TestTakeDoesNotAllocate(t *testing.T) {
	for _, deny := range []bool{false, true} {
		s := New(&plentyLender{deny: deny}, Options{Clock: func() limiter.Instant { return benchStart }})
		defer s.Close()
		var takes []limiter.Take
		for id := range uint32(roomFor) {
			r := node{t, s, nil}.rule(limiter.Rule{ID: id + 1, Limit: limiter.Limit{Events: limiter.MaxEvents, Window: time.Hour}})
			takes = append(takes, takeOf(r, "a key with some thirty characters", 1))
			_ = s.Take(t.Context(), benchStart, takes[id:]) // gets a lease
		}
		for _, n := range []int{1, 3, roomFor} {
			check := func(what string, call func()) {
				t.Helper()
				if got := testing.AllocsPerRun(500, call); got != 0 {
					t.Errorf("%s: allocations per %s of %d = %v, want 0", fmt.Sprintf("denied %v", deny), what, n, got)
				}
			}
			now := benchStart
			check("take", func() {
				now++
				_ = s.Take(t.Context(), now, takes[:n])
			})
			if takes[0].Decision.OK == deny || takes[0].Decision.Source == limiter.FromStore {
				t.Errorf("take = %+v, want it decided by the account", takes[0].Decision)
			}
			check("peek", func() { _ = s.Peek(t.Context(), now, takes[:n]) })
		}
	}
}

// TestMemoryPerAccount measures accounts as most are on a node: used once, with nothing leased. The
// race detector needs memory of its own, so this test runs without it.
func TestMemoryPerAccount(t *testing.T) {
	const (
		keys  = 400_000
		bound = 240 // bytes an account, with keys of 16 bytes
	)
	s := New(&plentyLender{deny: true}, Options{Clock: func() limiter.Instant { return benchStart }})
	defer s.Close()
	r := node{t, s, nil}.rule(limiter.Rule{MaxKeys: keys, Limit: limiter.Limit{Events: 100, Window: time.Hour}})
	key := make([]byte, 16)
	takes := []limiter.Take{{Rule: r, Key: key, Cost: 1}}
	before := heap()
	var sum float64
	const steps = 20 // tables grow now and then, so the test takes the mean
	for i := range keys {
		binary.BigEndian.PutUint64(key, uint64(i))
		_ = s.Take(t.Context(), benchStart, takes)
		if n := i + 1; n%(keys/steps) == 0 {
			sum += float64(heap()-before) / float64(n)
		}
	}
	if got := s.Stats().Accounts; got != keys {
		t.Fatalf("accounts = %d, want %d", got, keys)
	}
	if got := sum / steps; got > bound {
		t.Errorf("%.1f bytes per account, want at most %d", got, bound)
	} else {
		t.Logf("%.1f bytes per account", got)
	}
	runtime.KeepAlive(s)
}

// heap returns the bytes in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one finds to be unused is swept by the second
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
