package command

import (
	"fmt"
	"sync"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/sim/fleet"
)

// A fleetReport is what fleets did with the requests, one for each fault.
type fleetReport struct {
	Nodes            int             `json:"nodes"`
	RoundTripSeconds float64         `json:"round_trip_seconds"`
	Spread           string          `json:"spread"`
	Outcomes         []fleet.Outcome `json:"outcomes"`
}

// fleets has the simulated fleets of a command. It has none without --nodes.
type fleets struct {
	options fleet.Options
	all     []*fleet.Fleet
}

func newFleets(f *simulateFlags, rule limiter.Rule) (*fleets, error) {
	if f.nodes == 0 {
		return new(fleets), nil
	}
	if f.rtt < 0 || f.rtt > time.Second {
		return nil, fmt.Errorf("--rtt: %v is no round trip to a store: use 0s to 1s", f.rtt)
	}
	spread, err := fleet.ParseSpread(f.spread)
	if err != nil {
		return nil, fmt.Errorf("--spread: %w", err)
	}
	s := &fleets{options: fleet.Options{Rule: rule, Nodes: f.nodes, RoundTrip: f.rtt, Spread: spread, Seed: f.seed}}
	for _, fault := range fleet.Faults {
		one, err := fleet.New(s.options, fault)
		if err != nil {
			return nil, fmt.Errorf("--nodes: %w", err)
		}
		s.all = append(s.all, one)
	}
	return s, nil
}

// add has requests arrive at all fleets, which run concurrently.
func (s *fleets) add(requests []sim.Arrival) {
	var running sync.WaitGroup
	for _, f := range s.all {
		running.Go(func() {
			for _, r := range requests {
				f.Add(r)
			}
		})
	}
	running.Wait()
}

// report ends the fleets, and returns what they did, or nil if there are none.
func (s *fleets) report() *fleetReport {
	if len(s.all) == 0 {
		return nil
	}
	r := &fleetReport{Nodes: s.options.Nodes, RoundTripSeconds: s.options.RoundTrip.Seconds(), Spread: s.options.Spread.String()}
	for _, f := range s.all {
		r.Outcomes = append(r.Outcomes, f.Outcome())
		f.Close()
	}
	return r
}

// print compares the fleets with a single counter.
func (r *fleetReport) print(t *table) {
	t.line("")
	t.line("%d nodes, round trip %v, spread %s, beside one counter; faults begin with its first rejection", r.Nodes,
		time.Duration(r.RoundTripSeconds*float64(time.Second)).Round(time.Microsecond), r.Spread)
	t.row("FAULT", "ADMITTED", "REJECTED", "OVER-ADMITTED", "FALSELY REJECTED", "CALLS PER 1000", "LOCAL", "IN OUTAGE")
	for _, o := range r.Outcomes {
		t.row(o.Fault, o.Admitted, o.Rejected, o.OverAdmitted, o.FalselyRejected, fmt.Sprintf("%.0f", o.CallsPer1000),
			percent(o.LocalShare), o.Outage)
	}
}
