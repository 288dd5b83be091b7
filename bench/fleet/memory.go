package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/procfs"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// memoryGoal is the goal for the memory of a node with a million live accounts, in bytes.
const memoryGoal = 512_000_000

// measureMemory prints the memory of a node with many live accounts, twice: right after they were
// created, with all garbage, and after the garbage was collected and given back to the system. Without
// help, that takes minutes.
func measureMemory(l *lab) error {
	keys := 1_000_000
	if l.short {
		keys = 10_000
	}
	f, err := newFleet(l.cluster, 1, 1)
	if err != nil {
		return err
	}
	defer f.close()
	// The first take of each key waits for the store, so the rate of new keys is the rate at which the
	// store answers.
	rule, err := policy{kind: limiter.FixedWindow}.rule(ruleOf(0), limiter.Limit{Events: 1000, Window: time.Hour})
	if err != nil {
		return err
	}
	begin := time.Now()
	missed := f.nodes[0].fill(rule, keys)
	took := time.Since(begin)
	peak, err := resident()
	if err != nil {
		return err
	}
	debug.FreeOSMemory()
	rest, err := resident()
	if err != nil {
		return err
	}
	live := f.nodes[0].store.Stats().Accounts
	text := fmt.Sprintf("One take of each of %d keys of 16 bytes, in %.1f s; %d failed. Memory is the resident memory of this\n"+
		"process, by the kernel's account.", keys, took.Seconds(), missed)
	section("Memory of a node", text,
		"live accounts", "right after", "without garbage", "per account", "goal, without garbage", "")
	report.Row(live, megabytes(peak), megabytes(rest), fmt.Sprintf("%d bytes", rest/int64(max(1, live))), "< 512 MB",
		report.Met(rest < memoryGoal))
	return nil
}

// resident returns the resident memory of this process, in bytes.
func resident() (int64, error) {
	self, err := procfs.Self()
	if err != nil {
		return 0, err
	}
	status, err := self.NewStatus()
	return int64(status.VmRSS), err
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }

// fill makes one take of each key. It returns the number of takes that failed.
func (n *node) fill(r *limiter.Rule, keys int) int64 {
	var (
		working      sync.WaitGroup
		next, missed atomic.Int64
	)
	for range 2 * callers {
		working.Go(func() {
			k, r := make([]limiter.Take, 1), n.ruleIn(r)
			for i := next.Add(1); i <= int64(keys); i = next.Add(1) {
				k[0] = limiter.Take{Rule: r, Key: fmt.Appendf(nil, "sk_live_%08d", i), Cost: 1}
				if n.store.Take(context.Background(), n.store.Now(), k) != nil {
					missed.Add(1)
				}
			}
		})
	}
	working.Wait()
	return missed.Load()
}
