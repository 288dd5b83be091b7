package memstore

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// algorithms are the algorithms whose counts take the same memory under every limit.
var algorithms = []struct {
	name string
	limiter.Algorithm
}{
	{"token_bucket", limiter.Algorithm{Kind: limiter.TokenBucket}},
	{"fixed_window", limiter.Algorithm{Kind: limiter.FixedWindow}},
	{"sliding_window_1", limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 1}},
	{"sliding_window_3", limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: 3}},
}

func TestMemoryPerKey(t *testing.T) {
	const (
		keys  = 200_000
		bound = 200 // bytes a key, with keys of 16 bytes
	)
	for _, a := range algorithms {
		t.Run(a.name, func(t *testing.T) {
			s := open(t)
			r := newRule(t, limiter.Rule{
				Zone: s.Open("z"), Algorithm: a.Algorithm, Limit: limiter.Limit{Events: limiter.MaxEvents, Window: limiter.MaxWindow},
			})
			key := make([]byte, 16)
			takes := []limiter.Take{{Rule: r, Key: key, Cost: limiter.MaxEvents / 2}}
			before := heap()
			for i := range keys {
				binary.BigEndian.PutUint64(key, uint64(i))
				_ = s.Take(t.Context(), start+limiter.Instant(i), takes)
			}
			perKey := float64(heap()-before) / keys
			if got := s.Open("z").Stats().Keys; got != keys {
				t.Fatalf("keys = %d, want %d", got, keys)
			}
			t.Logf("%.1f bytes per key", perKey)
			if perKey > bound {
				t.Errorf("%.1f bytes per key, want at most %d", perKey, bound)
			}
		})
	}
}

// heap returns the bytes in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one finds to be unused is swept by the second
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
