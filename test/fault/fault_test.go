package fault

import (
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestFaultsInCluster(t *testing.T) {
	t.Parallel()
	fleets := inCluster
	if *matrix {
		fleets = append(fleets, inMatrix...)
	}
	for _, faults := range fleets {
		t.Run(faults[0].name, func(t *testing.T) {
			t.Parallel()
			newFleet(t, newCluster(t, size), plain).suffer("cluster", faults)
		})
	}
}

func TestFaultsOfOneServer(t *testing.T) {
	t.Parallel()
	faults := standalone
	if *matrix {
		faults = append(faults, standaloneInMatrix...)
	}
	newFleet(t, newStandalone(t, size+joining), plain).suffer("standalone", faults)
}

// suffer injects faults one after the other. At the end, nothing of them is left.
func (f *fleet) suffer(where string, faults []*fault) {
	f.t.Helper()
	f.t.Log("| " + strings.Join(columns, " | ") + " |")
	goroutines, connections := f.goroutines(), f.redis.connections()
	for _, ft := range faults {
		r := f.run(ft)
		f.t.Log(r.row(where))
		for _, v := range r.violations() {
			f.t.Errorf("%s, %s: %s", where, ft.name, v)
		}
	}
	end := result{goroutines: [2]int{goroutines}, connections: [2]int{connections}}
	redistest.Eventually(f.t, "goroutines and connections as before", func() bool {
		end.goroutines[1], end.connections[1] = f.goroutines(), f.redis.connections()
		return !end.leaks()
	})
}
