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

// TestTakeDoesNotAllocate takes from accounts. The race detector allocates, so this test runs
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

// TestMemoryPerAccount measures accounts as most accounts of a node are: used once, without a
// lease. A lease takes no more memory. The race detector needs memory of its own, so this test runs
// without it.
func TestMemoryPerAccount(t *testing.T) {
	for _, tt := range []struct {
		length     int // of the keys, in bytes
		mean, most float64
	}{
		{16, 330, 384},
		{65, 410, 512}, // the longest key and its space
	} {
		t.Run(fmt.Sprint(tt.length), func(t *testing.T) {
			mean, most := bytesPerAccount(t, tt.length)
			if t.Logf("bytes per account: mean = %.1f, most = %.1f", mean, most); mean > tt.mean || most > tt.most {
				t.Errorf("want at most %v and %v", tt.mean, tt.most)
			}
		})
	}
}

// bytesPerAccount measures the memory of accounts while they are added, because tables grow now and
// then.
func bytesPerAccount(t *testing.T, length int) (mean, most float64) {
	const keys, steps = 400_000, 20
	s := New(&plentyLender{deny: true}, Options{Clock: func() limiter.Instant { return benchStart }})
	defer s.Close()
	r := node{t, s, nil}.rule(limiter.Rule{MaxKeys: keys, Limit: limiter.Limit{Events: 100, Window: time.Hour}})
	key := make([]byte, length)
	takes := []limiter.Take{{Rule: r, Key: key, Cost: 1}}
	before := heap()
	for i := range keys {
		binary.BigEndian.PutUint64(key, uint64(i))
		_ = s.Take(t.Context(), benchStart, takes)
		if n := i + 1; n%(keys/steps) == 0 {
			bytes := float64(heap()-before) / float64(n)
			mean, most = mean+bytes/steps, max(most, bytes)
		}
	}
	if got := s.Stats().Accounts; got != keys {
		t.Fatalf("accounts = %d, want %d", got, keys)
	}
	runtime.KeepAlive(s)
	return mean, most
}

// heap returns the bytes in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // the second collection sweeps what the first found to be unused
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
