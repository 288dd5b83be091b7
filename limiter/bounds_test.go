package limiter

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"
)

// TestAdmissionBounds floods each algorithm at random paces and refunds some takes. In no span are
// more of the other events admitted than the algorithm promises for its length. If several takes of
// a bucket are refunded at a time, a span may have more events: as many as were still to be
// refunded when it began.
func TestAdmissionBounds(t *testing.T) {
	const window = 60 * sec
	limit := Limit{Events: 20, Window: time.Minute, Burst: 30}
	rate := func(span int64) int64 { return (span*20 + window - 1) / window }
	for _, test := range []struct {
		name string
		Algorithm
		span, most int64 // events in any span of this many µs, without its end
	}{
		{"log, window", slidingWindowLog, window, 20},
		{"fixed, window", fixed, window, 40},
		{"sliding-1, window", sliding(1), window, 40},
		{"sliding-2, half a window", sliding(2), window / 2, 20},
		{"sliding-2, window", sliding(2), window, 40},
		{"sliding-60, window less a sixtieth", sliding(60), window / 60 * 59, 20},
		{"bucket, window", bucket, window, 30 + rate(window)},
		{"bucket, second", bucket, sec, 30 + rate(sec)},
		{"bucket, ten windows", bucket, 10 * window, 30 + rate(10*window)},
	} {
		for seed := range uint64(150) {
			mostPending := []int{0, 1, 1000}[seed%3]
			rng := rand.New(rand.NewPCG(seed, 5))
			r, c := mustRule(t, test.Algorithm, limit), NewCount(test.Algorithm)
			var pending []Events // takes that will be refunded, by what was consumed right after them
			type admission struct {
				at      Instant
				pending int64 // how many events will be refunded afterwards
			}
			var admitted []admission
			pace := int64(1)
			for now := Instant(600 * sec); now < 1800*sec; now += Instant(rng.Int64N(pace)) {
				if rng.IntN(30) == 0 { // from a flood to pauses in which everything is free again
					pace = []int64{sec / 10, sec, 5 * sec, 50 * sec}[rng.IntN(4)]
				}
				if rng.IntN(40) == 0 {
					for _, seen := range pending {
						c.Refund(r, now, seen, 1)
					}
					pending = nil
				}
				switch d := c.Take(r, now, 1); {
				case !d.OK:
				case len(pending) < mostPending && rng.IntN(2) == 0:
					pending = append(pending, d.Seen())
				default:
					admitted = append(admitted, admission{now, int64(len(pending))})
				}
			}
			first := 0
			for i, last := range admitted {
				for admitted[first].at <= last.at-Instant(test.span) {
					first++
				}
				most := test.most
				if mostPending > 1 && test.Algorithm == bucket {
					most += admitted[first].pending
				}
				if n := int64(i - first + 1); n > most {
					t.Fatalf("%s, seed %d: events in %d µs up to %d = %d, want at most %d",
						test.name, seed, test.span, last.at, n, most)
				}
			}
		}
	}
}

// TestMemoryPerKey pins what docs/algorithms.md states about the memory of a count, in bytes.
func TestMemoryPerKey(t *testing.T) {
	const word = unsafe.Sizeof(int64(0))
	size := func(a Algorithm) uintptr { return uintptr(a.StateSize()) * word }
	for _, test := range []struct {
		name      string
		got, want uintptr
	}{
		{"token bucket", size(bucket), 32},
		{"fixed window", size(fixed), 32},
		{"sliding window with one sub-window", size(sliding(1)), 56},
		{"further sub-window", size(sliding(2)) - size(sliding(1)), 8},
		{"log", unsafe.Sizeof(slidingLog{}), 48},
		{"entry of a log", unsafe.Sizeof(logEntry{}), 16},
	} {
		if got := test.got; got != test.want {
			t.Errorf("bytes of a %s = %d, want %d as docs/algorithms.md states", test.name, got, test.want)
		}
	}
}
