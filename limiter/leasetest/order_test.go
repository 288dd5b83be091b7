package leasetest

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/test/racetest"
)

// An order makes a simulation repeat itself: the same seed, the same history.
//
// In a bubble, timers that fire at the same instant do so in a random order, and goroutines that they
// wake run in any. So what happens in the same µs happens at different nanoseconds of it, which is how
// precise the bubble's clock is and all clocks of the simulation are not. A take waits for nothing but
// whole µs, so what it waits for has the nanosecond at which the take arrived. Takes that wait for the
// same request would give up at the same instant: for them, Lag adds their nanosecond a second time.
type order struct {
	next  int                // numbers what happens
	taken map[int64]struct{} // the instants to come at which something happens, in ns
	stop  chan struct{}

	mu  sync.Mutex // guards what follows
	rng *rand.Rand // of what nodes spread
}

const (
	orders    = 30 // nanoseconds at which things happen
	lagFactor = 31 // so that orders*lagFactor + orders are less than a µs
	attends   = 999
)

func newOrder(seed uint64) *order {
	return &order{taken: make(map[int64]struct{}), stop: make(chan struct{}), rng: rand.New(rand.NewPCG(seed, 6))}
}

func (o *order) random() float64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rng.Float64()
}

// inOrder has a node's store do nothing by itself.
func (s *simulation) inOrder(o *lease.Options) {
	if s.order != nil {
		o.Attended, o.Random = true, s.order.random
	}
}

// moment returns how long it takes until us µs have passed and nothing else happens, with mu held.
func (s *simulation) moment(us int64) time.Duration {
	if s.order == nil {
		return time.Duration(us) * time.Microsecond
	}
	o, now := s.order, int64(time.Since(s.began))
	at := now - now%1000 + us*1000
	for {
		o.next++
		at := at + 1 + int64(o.next%orders)
		if _, taken := o.taken[at]; at > now && !taken {
			o.taken[at] = struct{}{}
			return time.Duration(at - now)
		}
		if o.next%orders == 0 { // there are as many in this µs
			return s.moment(us + 1)
		}
	}
}

// momentAlone returns how long it takes until us µs have passed, or a little more, and nothing else
// happens within the µs.
func (s *simulation) momentAlone(us int64) time.Duration {
	if s.order == nil {
		return s.moment(us)
	}
	o, now := s.order, int64(time.Since(s.began))
next:
	for at := now - now%1000 + max(1, us)*1000; ; at += 1000 {
		for i := range int64(orders) {
			if _, taken := o.taken[at+1+i]; taken {
				continue next
			}
		}
		for i := range int64(orders) {
			o.taken[at+1+i] = struct{}{}
		}
		return time.Duration(at + 1 - now)
	}
}

// afterUnlocked calls do in us µs. It is called with mu held, do is not.
func (s *simulation) afterUnlocked(us int64, do func()) *time.Timer {
	return time.AfterFunc(s.moment(us), do)
}

// lagInOrder returns the lag of a node's process, which is less than a µs.
func (s *simulation) lagInOrder() time.Duration {
	if ns := time.Since(s.began) % 1000; s.order != nil && ns <= orders {
		return ns * lagFactor
	}
	return 0
}

// attend attends to the stores of all nodes until the simulation is closed.
func (s *simulation) attend() {
	sleepFor(attends)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	var nodes []*simNode
	for {
		select {
		case <-s.order.stop:
			return
		case <-ticker.C:
		}
		s.mu.Lock()
		nodes = append(nodes[:0], s.nodes...)
		now := int64(time.Since(s.began))
		maps.DeleteFunc(s.order.taken, func(at int64, _ struct{}) bool { return at <= now })
		s.mu.Unlock()
		for _, n := range nodes {
			n.store.Attend()
		}
	}
}

// oneAtATime has goroutines run one at a time until the test ends: those that a reply wakes at the same
// instant run in the order in which it wakes them. The race detector needs them in any.
func oneAtATime(t *testing.T) {
	if !racetest.Enabled {
		before := runtime.GOMAXPROCS(1)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
}

// digest returns a hash of all that has happened, and when. It does not tell in which order things
// happened at the same instant: a reply wakes many takes, and if the process is held up, the runtime
// may put one of them behind the others.
func (s *simulation) digest() (sum uint64) {
	for i := range s.trace {
		h := fnv.New64a()
		_, _ = h.Write([]byte(sinceEpoch(s.trace[i].at).String() + s.trace[i].String()))
		sum += h.Sum64()
	}
	return sum
}
