package leasetest

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/lease"
	"github.com/fleetlimit/fleetlimit/test/racetest"
)

// Take implements [limiter.Store]. The takes that may wait come here, and those of closed zones, which
// fail.
func (n *simNode) Take(ctx context.Context, _ limiter.Instant, takes []limiter.Take) (err error) {
	for i := range takes {
		k := &takes[i]
		if k.Err = errLost; k.Wait > 0 && k.Rule.ID == 1 {
			k.Err = n.takeWaiting(ctx, k)
		}
		if err == nil {
			err = k.Err
		}
	}
	return err
}

// takeWaiting has the store decide a take that may wait. The take may reach it though nobody waits for
// the answer any more.
func (n *simNode) takeWaiting(ctx context.Context, k *limiter.Take) error {
	if n.outage.Load() {
		return errNotAsked
	}
	key := keyOf(&limiter.LeaseRequest{Rule: k.Rule, Key: k.Key})
	n.mu.Lock()
	lost, way := n.gone || n.happens(n.net.loseRequest), n.wayOfRequest()
	answer := make(chan limiter.Decision, 1)
	if rule, cost, wait := k.Rule, k.Cost, k.Wait; !lost {
		n.after(way, func() {
			l := limiter.LeaseRequest{Rule: rule, Key: []byte(k.Key), Need: cost}
			g := n.simulation.store.ledger(&l)
			if n.fault.turn != nil {
				n.fault.turn(g, rule)
			}
			d := g.TakeWaiting(rule, n.now(), cost, wait)
			if d.OK {
				n.simulation.store.unsynced[key] += cost
			}
			n.tracef(key, "store decides a take of %d for %v that may wait: %+v", cost, n, d)
			if !n.happens(n.net.loseAnswer) {
				n.afterUnlocked(n.way(), func() { answer <- d })
			}
		})
	}
	n.mu.Unlock()
	select {
	case k.Decision = <-answer:
	case <-ctx.Done():
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if k.Decision.At == 0 {
		n.key(key).missed = n.now()
		return lease.ErrTimeout
	}
	if h := n.key(key); !k.Decision.OK {
		h.denied = true
		h.denials = append(h.denials, denial{k.Rule, n.now(), k.Cost, k.Decision})
	}
	return nil
}

// TestWaitingModel plays random fleets on buckets whose takes mostly may wait. Where a take has its turn,
// it counts as admitted.
func TestWaitingModel(t *testing.T) {
	runs, queued := uint64(max(1, *modelRuns/2)), 0
	if racetest.Enabled {
		runs = max(1, runs/5)
	}
	for seed := *modelSeed; seed < *modelSeed+runs; seed++ {
		s := playWaiting(t, seed, fault{})
		if s.checker.err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, s.checker.err, s.story())
		}
		queued += s.queued
	}
	if queued < int(runs) {
		t.Errorf("takes that waited for their turn in %d runs = %d, want more", runs, queued)
	}
}

// playWaiting plays a random fleet on a bucket.
func playWaiting(t *testing.T, seed uint64, f fault) (s *simulation) {
	t.Helper()
	f.algorithm = &bucket
	f.maxWait = time.Duration(1+rand.New(rand.NewPCG(seed, 5)).IntN(3000)) * time.Millisecond
	synctest.Test(t, func(*testing.T) {
		s = newRandomFleet(seed, f)
		s.play()
	})
	return s
}

// TestWaitingModelFindsFaults plants a fault: the bucket forgets what it has promised beyond twice its
// capacity.
func TestWaitingModelFindsFaults(t *testing.T) {
	f := fault{boundsOnly: true, turn: func(g *Ledger, r *limiter.Rule) {
		if b := g.count.(*countedLending).lendingCount.(*lendingBucket); b.missing > 2*r.Capacity() {
			b.missing = 2 * r.Capacity()
		}
	}}
	const runs = 200
	for seed := range uint64(runs) {
		if err := playWaiting(t, seed, f).checker.err; err != nil {
			t.Logf("seed %d: %v", seed, err)
			return
		}
	}
	t.Errorf("runs in which the model found it = 0 of %d, want one", runs)
}
