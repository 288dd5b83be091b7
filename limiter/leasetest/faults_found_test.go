//go:build !race

package leasetest

import "testing"

// TestLeaseModelFindsFaults plants faults, and wants each of them found within a number of runs.
func TestLeaseModelFindsFaults(t *testing.T) {
	const runs = 400
	for _, f := range faults {
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
