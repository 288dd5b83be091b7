package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fleetlimit/fleetlimit/limiter"
)

const (
	// slice is how many takes a caller makes before it yields the processor. Else goroutines that
	// wait for Redis would wait for the scheduler, which takes a processor away only after 10 ms.
	slice = 64

	// drawn is how many keys are drawn beforehand.
	drawn = 1 << 14
)

// A saturation is what callers reach that make takes as fast as they can.
type saturation struct {
	takes    int64
	failed   int64
	requests int64 // to the store
	elapsed  time.Duration
	busy     time.Duration // of processors, for this process
}

func (s saturation) rate() float64 { return float64(s.takes) / s.elapsed.Seconds() }

func (s saturation) perThousand() float64 {
	return 1000 * float64(s.requests) / float64(max(1, s.takes))
}

func (s saturation) requestRate() float64 { return float64(s.requests) / s.elapsed.Seconds() }

// since returns what has come after before.
func (s saturation) since(before saturation) saturation {
	return saturation{
		takes: s.takes - before.takes, failed: s.failed - before.failed, requests: s.requests - before.requests,
		elapsed: s.elapsed - before.elapsed, busy: s.busy - before.busy,
	}
}

// perTake returns the processor time of a take.
func (s saturation) perTake() time.Duration { return s.busy / time.Duration(max(1, s.takes)) }

// A caller makes takes on a node, one after the other. What it counts is its own, so that callers
// do not slow each other down.
type caller struct {
	takes, failed atomic.Int64
	_             [112]byte // to two cache lines
}

// run makes takes of keys, from the number first on, until stop is set.
func (c *caller) run(n *node, r *limiter.Rule, keys [][]byte, first int, stop *atomic.Bool) {
	k, r := make([]limiter.Take, 1), n.in(r)
	for i := first; !stop.Load(); i++ {
		k[0] = limiter.Take{Rule: r, Key: keys[i%len(keys)], Cost: 1}
		if n.store.Take(context.Background(), n.store.Now(), k) != nil {
			c.failed.Add(1)
		}
		c.takes.Add(1)
		if i%slice == 0 {
			runtime.Gosched()
		}
	}
}

// saturate lets callers, spread evenly over the nodes, make takes of the trial with this number, as
// fast as they can. It measures for length, after warm.
func (f *fleet) saturate(t *trial, number int, warm, length time.Duration) saturation {
	var (
		working sync.WaitGroup
		stop    atomic.Bool
		keys    = t.draw(rand.New(rand.NewPCG(1, 2)))
		all     = make([]caller, max(callers, len(f.nodes)))
	)
	for i := range all {
		working.Go(func() { all[i].run(f.nodes[i%len(f.nodes)], t.rule, keys, i*drawn/len(all), &stop) })
	}
	begin := time.Now()
	read := func() (s saturation) {
		for i := range all {
			s.takes += all[i].takes.Load()
			s.failed += all[i].failed.Load()
		}
		s.requests, s.elapsed, s.busy = f.requests.read()[ruleOf(number)], time.Since(begin), processorTime()
		return s
	}
	time.Sleep(warm)
	before := read()
	time.Sleep(length)
	after := read()
	stop.Store(true)
	working.Wait()
	return after.since(before)
}

// draw returns keys as takes of the trial have them.
func (t *trial) draw(rng *rand.Rand) [][]byte {
	keys := make([][]byte, drawn)
	z := newZipf(t.shape.exponent, t.shape.keys)
	for i := range keys {
		keys[i] = t.keys[z.draw(rng.Float64())]
	}
	return keys
}

// saturated measures policies, one after the other, on a new fleet.
func saturated(c *cluster, policies []policy, h shape, nodes int, warm, length time.Duration) ([]saturation, error) {
	f, err := newFleet(c, nodes, len(policies))
	if err != nil {
		return nil, err
	}
	defer f.close()
	var all []saturation
	for i, p := range policies {
		t := &trial{policy: p, shape: h, window: time.Minute}
		if err := t.prepare(i, t.window, length); err != nil {
			return nil, err
		}
		all = append(all, f.saturate(t, i, warm, length))
	}
	return all, nil
}

// processorTime returns how long this process has used a processor.
func processorTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
