//go:build !race

package leasetest

import (
	"slices"
	"testing"
)

// TestLeaseModelFindsFaults plants faults, and wants each of them found within a number of runs.
func TestLeaseModelFindsFaults(t *testing.T) {
	const runs = 400
	for _, f := range slices.Concat(faults, varietyFaults) {
		t.Run(f.name, func(t *testing.T) {
			for seed := f.from; seed < f.from+runs; seed++ {
				if err := playRandomFleet(t, seed, f).checker.err; err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Errorf("runs in which the model found it = 0 of %d, want one", runs)
		})
	}
}

// TestLeaseModelRepeatsItself plays each of some random fleets twice. Without an order, every other one
// would differ. One may, where the runtime has held up a goroutine.
func TestLeaseModelRepeatsItself(t *testing.T) {
	oneAtATime(t)
	const runs, most = 20, 2
	differ := 0
	for seed := range uint64(runs) {
		first, second := playRandomFleet(t, seed, fault{}), playRandomFleet(t, seed, fault{})
		if first.digest() != second.digest() {
			differ++
		}
	}
	if differ > most {
		t.Errorf("seeds whose history was not the same twice = %d of %d, want %d at most", differ, runs, most)
	}
}
