package main

import (
	"testing"
	"time"
)

func TestOrdinaryLimitsAreSelected(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, 11},
		{[]string{"-short"}, 11},
		{[]string{"-window", "1s"}, 4},
		{[]string{"-window", "60s", "-algorithm", "token_bucket,fixed_window"}, 5},
		{[]string{"-window", "1h"}, 0},
	} {
		o, err := parseOptions(append(c.args, "-only", "typical"))
		if err != nil {
			t.Fatal(err)
		}
		if got := o.typicals(); len(got) != c.want {
			t.Errorf("%q: %d ordinary limits, want %d", c.args, len(got), c.want)
		}
	}
}

// The limits of large fleets have windows of a minute, and the load and the spread of their rows.
func TestLargeFleetsHaveTheirLoads(t *testing.T) {
	o, err := parseOptions([]string{"-algorithm", "token_bucket"})
	if err != nil {
		t.Fatal(err)
	}
	for _, nodes := range largeSizes {
		rows := o.larges(nodes)
		if len(rows) != 6 {
			t.Errorf("%d rows of %d nodes, want 6", len(rows), nodes)
		}
		for i, tr := range typicalRuns(rows, time.Second, time.Second)[0].trials {
			y := rows[i]
			if got, want := tr.rate*60/typicalKeys, y.part()*float64(y.events); got < 0.999*want || got > 1.001*want {
				t.Errorf("%s at %g: %g takes of a key per window, want %g", y.limit(), y.part(), got, want)
			}
			on := make([]int, nodes)
			for _, a := range tr.arrivals(i, nodes, time.Minute) {
				on[a.node]++
			}
			if got, want := on[0] > 5*on[nodes/2], y.spread > 0; got != want {
				t.Errorf("%s, spread %g: %d takes on the first node and %d on the middle one", y.limit(), y.spread, on[0], on[nodes/2])
			}
		}
	}
}

// Each key has half as many takes as its limit allows. The trials are in the order of the rows.
func TestOrdinaryLimitsAreHalfUsed(t *testing.T) {
	o, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, next := o.typicals(), 0
	for _, r := range typicalRuns(rows, time.Second, 3*time.Second) {
		if r.warm != time.Second || r.length != 4*time.Second {
			t.Errorf("a run of %d nodes takes %v with a warm-up of %v, want 4 s with 1 s", r.nodes, r.length, r.warm)
		}
		for _, tr := range r.trials {
			y := rows[next]
			next++
			if tr.policy != y.policy || tr.events(r.length) != y.events || tr.window != y.window || r.nodes != y.nodes {
				t.Errorf("%v, %d per %v on %d nodes: want %+v", tr.policy, tr.events(r.length), tr.window, r.nodes, y)
			}
			if got, want := tr.rate*y.window.Seconds()/typicalKeys, float64(y.events)/2; got < 0.999*want || got > 1.001*want {
				t.Errorf("%s: %g takes of a key per window, want %g", y.limit(), got, want)
			}
		}
	}
	if next != len(rows) {
		t.Errorf("%d trials, want %d", next, len(rows))
	}
}

func TestOrdinaryLimitsAreNamedAsInACaddyfile(t *testing.T) {
	for want, y := range map[string]typical{
		"100/1s":   {events: 100, window: time.Second},
		"10000/1m": {events: 10_000, window: time.Minute},
	} {
		if got := y.limit(); got != want {
			t.Errorf("%d per %v is %s, want %s", y.events, y.window, got, want)
		}
	}
}
