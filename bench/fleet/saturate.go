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
	// slice is the number of takes that a caller makes before it yields the processor. Without that,
	// goroutines that wait for Redis would also wait for the scheduler, which preempts only after 10
	// ms.
	slice = 64

	// drawn is the number of keys that are drawn in advance.
	drawn = 1 << 14
)

// A saturation is the result of callers that make takes without a pause.
type saturation struct {
	takes    int64
	failed   int64
	requests int64 // number of requests to the store
	elapsed  time.Duration
	busy     time.Duration // processor time of this process
}

func (s saturation) rate() float64 { return float64(s.takes) / s.elapsed.Seconds() }

func (s saturation) perThousand() float64 {
	return 1000 * float64(s.requests) / float64(max(1, s.takes))
}

func (s saturation) requestRate() float64 { return float64(s.requests) / s.elapsed.Seconds() }

// perTake returns the processor time per take.
func (s saturation) perTake() time.Duration { return s.busy / time.Duration(max(1, s.takes)) }

// saturate runs callers for the trial t, spread evenly over the nodes. number is the index of the
// trial.
func (f *fleet) saturate(t *trial, number int, length time.Duration) saturation {
	var (
		working       sync.WaitGroup
		stop          atomic.Bool
		takes, failed atomic.Int64
		keys          = t.draw(rand.New(rand.NewPCG(1, 2)))
		n             = max(callers, len(f.nodes))
		requests      = f.requests.read()[ruleOf(number)]
		begin, busy   = time.Now(), processorTime()
	)
	for caller := range n {
		working.Go(func() {
			node, k := f.nodes[caller%len(f.nodes)], make([]limiter.Take, 1)
			rule, store := node.ruleIn(t.rule), node.store
			made, missed := int64(0), int64(0) // not shared, so that callers do not slow each other down
			for i := caller * drawn / n; !stop.Load(); i++ {
				k[0] = limiter.Take{Rule: rule, Key: keys[i%drawn], Cost: 1}
				if store.Take(context.Background(), store.Now(), k) != nil {
					missed++
				}
				if made++; made%slice == 0 {
					runtime.Gosched()
				}
			}
			takes.Add(made)
			failed.Add(missed)
		})
	}
	time.Sleep(length)
	stop.Store(true)
	working.Wait()
	return saturation{
		takes: takes.Load(), failed: failed.Load(), requests: f.requests.read()[ruleOf(number)] - requests,
		elapsed: time.Since(begin), busy: processorTime() - busy,
	}
}

// draw returns random keys by the shape of the trial.
func (t *trial) draw(rng *rand.Rand) [][]byte {
	keys := make([][]byte, drawn)
	z := newZipf(t.shape.exponent, t.shape.keys)
	for i := range keys {
		keys[i] = t.keys[z.draw(rng.Float64())]
	}
	return keys
}

// saturated empties c, and measures policies on a new fleet, one after the other. It measures each
// policy for length, after a warm-up of warm.
func saturated(c *cluster, policies []policy, h shape, nodes int, warm, length time.Duration) ([]saturation, error) {
	if err := c.flush(); err != nil {
		return nil, err
	}
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
		f.saturate(t, i, warm)
		all = append(all, f.saturate(t, i, length))
	}
	return all, nil
}

// processorTime returns the processor time of this process.
func processorTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // it cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
