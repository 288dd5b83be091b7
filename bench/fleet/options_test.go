package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

func TestOptionsSelectTrials(t *testing.T) {
	o, err := parseOptions([]string{
		"-shape", "pinned,zipf", "-window", "60s", "-load", "90%,1000", "-algorithm", "fixed_window",
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.shapes) != 2 || o.shapes[0].name != "pinned" || o.shapes[1].name != "zipf" {
		t.Errorf("shapes = %+v, want pinned and zipf", o.shapes)
	}
	if want := []time.Duration{time.Minute}; !slices.Equal(o.windows, want) {
		t.Errorf("windows = %v, want %v", o.windows, want)
	}
	if want := []float64{0.9, 10}; !slices.Equal(o.loads, want) {
		t.Errorf("loads = %v, want %v", o.loads, want)
	}
	want := []policy{{kind: limiter.FixedWindow}, strict}
	if !slices.Equal(o.policies, want) {
		t.Errorf("policies = %v, want %v", o.policies, want)
	}
	if !o.wants("hot") {
		t.Error("without -only, hot is not wanted")
	}
}

func TestShortKeepsOtherFlags(t *testing.T) {
	o, err := parseOptions([]string{"-short", "-window", "1h", "-only", "exact"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{time.Hour}; !slices.Equal(o.windows, want) {
		t.Errorf("windows = %v, want %v", o.windows, want)
	}
	if o.length != time.Second || len(o.loads) != 2 {
		t.Errorf("length %v, loads %v; want 1 s, two loads", o.length, o.loads)
	}
	if o.wants("hot") || !o.wants("exact") {
		t.Errorf("wants hot: %v, exact: %v; want only exact", o.wants("hot"), o.wants("exact"))
	}
}

func TestInvalidOptionsAreRefused(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-shape round", `there is no shape "round"`},
		{"-only all", `there is no measurement "all"`},
		{"-load -5", `"-5" is below 0`},
		{"-nodes 0", "use positive values"},
		{"short", `"short" is not a flag`},
	} {
		if _, err := parseOptions(strings.Fields(c.args)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %s", c.args, err, c.want)
		}
	}
}

func TestRunLengthDependsOnWindow(t *testing.T) {
	for _, c := range []struct{ flag, window, want time.Duration }{
		{0, 100 * time.Millisecond, 20 * time.Second},
		{0, time.Second, 20 * time.Second},
		{0, 2 * time.Second, 40 * time.Second},
		{0, time.Minute, time.Minute},
		{0, time.Hour, time.Minute},
		{5 * time.Second, time.Minute, 5 * time.Second},
	} {
		if got := (&options{length: c.flag}).lengthFor(c.window); got != c.want {
			t.Errorf("length of a run with a window of %v = %v, want %v with the flag %v", c.window, got, c.want, c.flag)
		}
	}
}
