package main

import (
	"slices"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestTrialsAreAllCombinations(t *testing.T) {
	o, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	type combination struct {
		policy policy
		shape  string
		load   float64
	}
	seen := make(map[combination]bool)
	for _, tr := range (&lab{options: o}).trials(time.Minute) {
		seen[combination{tr.policy, tr.shape.name, tr.load}] = true
	}
	if got, want := len(seen), len(o.policies)*len(o.shapes)*len(o.loads); got != want || len(o.policies) != 5 {
		t.Errorf("%d trials of %d policies, want %d of 5", got, len(o.policies), want)
	}
}

func TestBatchesAreSmallAndEven(t *testing.T) {
	trials := make([]*trial, 260)
	for carried, want := range map[float64][]int{26_000: {260}, 25_999: {130, 130}, 9_000: {87, 87, 86}} {
		var sizes []int
		for _, part := range batches(trials, 100, carried) {
			sizes = append(sizes, len(part))
		}
		if !slices.Equal(sizes, want) {
			t.Errorf("%g takes per second are carried: parts of %v, want %v", carried, sizes, want)
		}
	}
}

func TestWorstOfTrials(t *testing.T) {
	fixed, log := leasing(limiter.FixedWindow), leasing(limiter.SlidingWindowLog)
	of := func(p policy, window time.Duration, load float64, c comparison, takes, local int) *outcome {
		return &outcome{trial: &trial{policy: p, window: window, load: load}, comparison: c, takes: takes, local: local}
	}
	all := []*outcome{
		of(fixed, time.Second, 0.5, comparison{exact: 100, short: 1}, 100, 90),
		of(fixed, time.Second, 0.9, comparison{exact: 100, over: 1}, 300, 240),
		of(fixed, time.Second, 1.5, comparison{exact: 100, over: 3, short: 9}, 150, 0),
		of(fixed, time.Minute, 0.5, comparison{exact: 100, over: 50, short: 50}, 100, 0),
		of(log, time.Second, 0.5, comparison{exact: 100, over: 50, short: 50}, 100, 0),
	}
	want := worst{over: 0.03, false: 0.0025, local: 0.8}
	if got := worstOf(all, fixed, time.Second); got != want {
		t.Errorf("worst = %+v, want %+v", got, want)
	}
}
