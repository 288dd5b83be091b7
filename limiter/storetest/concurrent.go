package storetest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// The number of goroutines in the tests of concurrency, and of the takes that each makes.
const (
	takers    = 16
	takesEach = 100
)

// testConcurrent checks that concurrent takes sum to exactly the limit.
func testConcurrent(t *testing.T, open opener) {
	eachAlgorithm(t, open, func(t *testing.T, s limiter.Store, perMinute func(int64) *limiter.Rule) {
		r := perMinute(1000)
		got := countAllowed(t, s, func(int) []limiter.Take { return []limiter.Take{newTake(r, "key", 1)} })
		if got != 1000 {
			t.Errorf("allowed %d of %d takes, want 1000", got, takers*takesEach)
		}
		remains(t, s, start, r, "key", 0)
	})
	for _, a := range algorithms {
		t.Run("several/"+a.name, func(t *testing.T) {
			s, zones := open(t, "a", "b", "c")
			narrow := perMinute(t, 1, zones["a"], a.Algorithm, 700)
			wide := perMinute(t, 2, zones["b"], a.Algorithm, 5000)
			own := perMinute(t, 3, zones["c"], limiter.Algorithm{}, 60)
			got := countAllowed(t, s, func(taker int) []limiter.Take {
				takes := []limiter.Take{newTake(narrow, "n", 1), newTake(wide, "w", 1), newTake(own, string(rune('a'+taker)), 1)}
				if taker%2 > 0 { // the other way round: locking in the order of takes would be a deadlock
					takes[0], takes[2] = takes[2], takes[0]
				}
				return takes
			})
			if got != 700 {
				t.Errorf("allowed %d of %d takes, want 700", got, takers*takesEach)
			}
			remains(t, s, start, narrow, "n", 0)
			remains(t, s, start, wide, "w", 4300)
			left := int64(0)
			for taker := range takers {
				left += peek(t, s, start, own, string(rune('a'+taker)), 1).Remaining
			}
			if want := int64(takers*60 - 700); left != want {
				t.Errorf("the takers have %d events left together, want %d", left, want)
			}
		})
	}
}

// countAllowed makes the takes that request returns for each taker, all at start, and returns how
// many were allowed.
func countAllowed(t *testing.T, s limiter.Store, request func(taker int) []limiter.Take) int64 {
	t.Helper()
	var (
		wg    sync.WaitGroup
		total atomic.Int64
	)
	for taker := range takers {
		wg.Go(func() {
			takes := request(taker)
			for range takesEach {
				if err := s.Take(t.Context(), start, takes); err != nil {
					t.Errorf("concurrent take: %v", err)
					return
				}
				ok := true
				for i := range takes {
					ok = ok && takes[i].Decision.OK
				}
				if ok {
					total.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return total.Load()
}
