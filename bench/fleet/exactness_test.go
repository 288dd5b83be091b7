package main

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestTrialsAreAllCombinations(t *testing.T) {
	o, err := parseOptions([]string{"-rate", "100"})
	if err != nil {
		t.Fatal(err)
	}
	all := (&lab{options: o}).trials(time.Minute)
	if got, want := len(all), 13*5*5; got != want { // 4 algorithms with 3 overshoots and strict; shapes; loads
		t.Errorf("%d trials, want %d", got, want)
	}
	type combination struct {
		policy policy
		shape  string
		load   float64
	}
	seen := make(map[combination]bool)
	for _, tr := range all {
		seen[combination{tr.policy, tr.shape.name, tr.load}] = true
		if tr.rate != 100 || tr.window != time.Minute {
			t.Errorf("%g takes per second, window %v; want 100, 1m", tr.rate, tr.window)
		}
	}
	if len(seen) != len(all) {
		t.Errorf("%d of %d trials differ", len(seen), len(all))
	}
}

func TestBatchesAreCarriedAndEven(t *testing.T) {
	trials := make([]*trial, 260)
	for _, c := range []struct {
		carried float64
		want    []int
	}{
		{26_000, []int{260}},
		{25_999, []int{130, 130}},
		{9_000, []int{87, 87, 86}},
	} {
		var sizes []int
		for _, part := range batches(trials, 100, c.carried) {
			sizes = append(sizes, len(part))
		}
		if len(sizes) != len(c.want) {
			t.Fatalf("%g takes per second are carried: parts of %v, want %v", c.carried, sizes, c.want)
		}
		for i := range sizes {
			if sizes[i] != c.want[i] {
				t.Errorf("%g takes per second are carried: parts of %v, want %v", c.carried, sizes, c.want)
				break
			}
		}
	}
}

func TestWorst(t *testing.T) {
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

func TestLengthFor(t *testing.T) {
	for _, c := range []struct{ said, window, want time.Duration }{
		{0, 100 * time.Millisecond, 20 * time.Second},
		{0, time.Second, 20 * time.Second},
		{0, 2 * time.Second, 40 * time.Second},
		{0, time.Minute, time.Minute},
		{0, time.Hour, time.Minute},
		{5 * time.Second, time.Minute, 5 * time.Second},
	} {
		if got := (&options{length: c.said}).lengthFor(c.window); got != c.want {
			t.Errorf("length of a run with a window of %v = %v, want %v when the flag says %v", c.window, got, c.want, c.said)
		}
	}
}
