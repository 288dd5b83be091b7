package lease

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// takers is how many goroutines take at the same time.
const takers = 8

// TestConcurrentTakes takes few keys of several zones from many goroutines. The lender replies
// late, at once or not at all. No more is admitted of a key than its limit, and no more than the
// lender has debited. Without failures, the limit is used up.
func TestConcurrentTakes(t *testing.T) {
	for _, line := range []struct {
		name     string
		keys     int
		failures int // one request in this many fails, or none if it is 0
	}{
		{"one key", 1, 0},
		{"a few keys", 10, 0},
		{"many keys", 100, 0},
		{"a few keys and failures", 10, 9},
	} {
		t.Run(line.name, func(t *testing.T) {
			const limit = 500
			lender := newLender(0)
			var n atomic.Int64
			lender.decide(func([]limiter.LeaseRequest) (fate, time.Duration) {
				i := n.Add(1)
				delay := time.Duration(i%3) * 100 * time.Microsecond
				if line.failures > 0 && i%int64(line.failures) == 0 {
					return fate(1 + i/int64(line.failures)%2), delay
				}
				return answered, delay
			})
			s := New(lender, Options{Timeout: 10 * time.Second})
			on := node{t, s, nil}
			rule := func(zone string, id uint32, events int64) *limiter.Rule { // no window ends during the test
				return on.rule(limiter.Rule{
					ID: id, Zone: s.Open(zone), Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow},
					Limit: limiter.Limit{Events: events, Window: limiter.MaxWindow},
				})
			}
			rules := []*limiter.Rule{rule("a", 1, limit), rule("b", 2, 2*limit)}
			admitted := takeConcurrently(t, s, rules, line.keys, limit)
			s.Close()
			total := int64(0)
			for key := range line.keys {
				got, text := admitted[key].Load(), fmt.Sprint("key", key)
				total += got
				if used := lender.used(rules[0], text); got > limit || got > used {
					t.Errorf("admitted of %s = %d, and debited %d, want at most that and the limit of %d", text, got, used, limit)
				}
				if used := lender.used(rules[1], text); got > used {
					t.Errorf("admitted of %s = %d, and debited in the other zone %d", text, got, used)
				}
			}
			if line.failures == 0 && total != int64(line.keys*limit) {
				t.Errorf("admitted of all keys = %d, want %d", total, line.keys*limit)
			}
		})
	}
}

// takeConcurrently takes the keys in turn, twice as often as their limit, and returns how many
// takes of each were admitted.
func takeConcurrently(t *testing.T, s *Store, rules []*limiter.Rule, keys, limit int) []atomic.Int64 {
	admitted := make([]atomic.Int64, keys)
	var wg sync.WaitGroup
	for g := range takers {
		wg.Go(func() {
			for i := range keys * limit * 2 / takers {
				key := (i + g) % keys
				takes := []limiter.Take{takeOf(rules[0], fmt.Sprint("key", key), 1), takeOf(rules[1], fmt.Sprint("key", key), 1)}
				if g%2 > 0 { // in the other order, so that takes that held two locks would deadlock
					slices.Reverse(takes)
				}
				if s.Take(t.Context(), s.options.Clock(), takes) == nil && takes[0].Decision.OK && takes[1].Decision.OK {
					admitted[key].Add(1)
				}
			}
		})
	}
	wg.Wait()
	return admitted
}

// TestConcurrentOpenAndClose opens and closes a zone and evicts accounts while takes are under way.
func TestConcurrentOpenAndClose(t *testing.T) {
	lender := newLender(200 * time.Microsecond)
	s := New(lender, Options{Timeout: 10 * time.Second, Nodes: twoNodes})
	n := node{t, s, lender}
	r := n.rule(limiter.Rule{
		Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, MaxKeys: 20,
		Limit: limiter.Limit{Events: 1000, Window: limiter.MaxWindow},
	})
	var inUse atomic.Pointer[limiter.Rule]
	inUse.Store(r)
	var admitted [50]atomic.Int64
	var wg sync.WaitGroup
	for range takers {
		wg.Go(func() {
			for i := range 600 {
				takes := []limiter.Take{takeOf(inUse.Load(), fmt.Sprint("key", i%len(admitted)), 1)}
				if err := s.Take(t.Context(), s.options.Clock(), takes); err != nil {
					t.Errorf("take: %v", err)
				} else if takes[0].Decision.OK {
					admitted[i%len(admitted)].Add(1)
				}
				_ = s.Peek(t.Context(), s.options.Clock(), takes)
				if i%200 == 0 {
					inUse.Load().Zone.(*Accounts).Close()
				} else if i%200 == 100 {
					inUse.Store(n.reopened(r))
				}
			}
		})
	}
	wg.Wait()
	s.Close()
	for i := range admitted {
		key, want := fmt.Sprint("key", i), admitted[i].Load()
		if used := usedAfterReturns(lender, r, key, want); used != want {
			t.Errorf("used of %s = %d, want the %d that were admitted: everything else is returned", key, used, want)
		}
	}
	if stacks := goroutines(); stacks != "" {
		t.Errorf("goroutines are left:\n%s", stacks)
	}
}

// usedAfterReturns returns how much is used of a key. It waits until that is want, or until
// patience runs out, because the returns of an evicted account may still be under way.
func usedAfterReturns(lender *memoryLender, r *limiter.Rule, key string, want int64) (used int64) {
	deadline := time.Now().Add(patience)
	for used = lender.used(r, key); used != want && time.Now().Before(deadline); used = lender.used(r, key) {
		<-time.After(time.Millisecond)
	}
	return used
}

// patience is how long a test waits for what should happen soon.
const patience = 5 * time.Second

// goroutines returns the stacks of the goroutines that execute this package outside its tests. It
// waits until there are none, or until patience runs out.
func goroutines() string {
	deadline := time.Now().Add(patience)
	for {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		own := slices.DeleteFunc(strings.Split(string(buf), "\n\n"), func(stack string) bool {
			return !strings.Contains(stack, "limiter/lease.") || strings.Contains(stack, "lease.Test")
		})
		if len(own) == 0 || time.Now().After(deadline) {
			return strings.Join(own, "\n\n")
		}
		<-time.After(time.Millisecond)
	}
}
