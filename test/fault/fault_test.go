package fault

import (
	"strings"
	"testing"
)

// Each fault is injected into fleets on a cluster. In the matrix, all faults that apply are also injected
// into fleets on a standalone server and under Sentinel, one after the other, so that no fleet makes another
// one late.
func TestFaults(t *testing.T) {
	fleets := []struct {
		where  string
		start  func(t *testing.T, nodes int) *topology
		faults []*fault
	}{
		{"cluster", newCluster, []*fault{killed, promotedByHand, slotsMove, scriptsFlushed, cutFromOneNode, restarted}},
		{"cluster", newCluster, []*fault{hangs, slowBy20, slowBy60, slowBy500, outOfMemory, outOfClients, allGone}},
		{"standalone", newStandalone, []*fault{nodeSuspended, nodeJoins}},
		{"cluster", newCluster, []*fault{hangsUntilPromoted, nodesJoin}},
		{"standalone", newStandalone, []*fault{
			scriptsFlushed, hangs, cutFromOneNode, slowBy20, slowBy60, slowBy500, restarted, outOfMemory, outOfClients, gone,
		}},
		{"sentinel", newSentinel, []*fault{
			scriptsFlushed, restarted, outOfMemory, killed, promotedByHand, hangsUntilPromoted,
		}},
	}
	if !*matrix {
		fleets = fleets[:3]
	}
	for _, f := range fleets {
		t.Run(f.where+", "+f.faults[0].name, func(t *testing.T) {
			if !*matrix {
				t.Parallel()
			}
			newFleet(t, f.start(t, size+joining), plain).suffer(f.where, f.faults)
		})
	}
}

// The nodes of each fleet have a mistake, which the checker finds.
func TestMistakesAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mistake settings
		want    string
	}{
		{settings{tight: "on_outage open"}, "were admitted without Redis, want at most 48 in 2 outages"},
		{settings{tight: "on_outage closed"}, "requests failed, want none"},
		{settings{redis: "timeout 2s"}, "these breakers did not open"},
		{settings{redis: "timeout 2s"}, "want at most one timeout"},
		{settings{breaker: "probes 1000000"}, "not decided exactly"},
	}
	if !*matrix {
		tests = tests[:1]
	}
	for _, test := range tests {
		t.Run(test.mistake.String(), func(t *testing.T) {
			t.Parallel()
			r := newFleet(t, newStandalone(t, size), test.mistake).run(hangs)
			t.Log(r.row(test.mistake.String()))
			wrong, late := r.violations()
			if got := strings.Join(append(wrong, late...), "; "); !strings.Contains(got, test.want) {
				t.Errorf("violations = %q, want %q", got, test.want)
			}
		})
	}
}

// attempts is how often a fault is injected at most. A late machine makes Redis look slow. So some violations
// count only if each attempt has any, and if the machine was not late in the last attempt. All violations are
// printed.
const attempts = 3

// tells is how late a machine may be so that the test can tell a slow Redis from a slow machine. A reply
// within timeout takes five turns: of the client, of Caddy, of Redis, and of both again.
const tells = timeout / 5

// suffer injects faults one after the other. At the end, nothing that they have caused is left.
func (f *fleet) suffer(where string, faults []*fault) {
	f.t.Helper()
	f.t.Log("| " + strings.Join(columns, " | ") + " |")
	before := f.left()
	for _, ft := range faults {
		for attempt := 1; !f.judge(where, f.run(ft), attempt); attempt++ {
		}
	}
	for _, n := range f.nodes {
		if strings.Contains(n.Logged(), "panic") {
			f.t.Errorf("%s: Caddy has logged a panic:\n%s", where, n.Logged())
		}
	}
	if now := f.awaitEnds(before); now.leaks(before) {
		f.t.Errorf("%s: %+v are left, want %+v", where, now, before)
	}
}

// judge prints a result, and fails the test if the result is wrong. It returns false if the machine may be
// the cause, so that the fault is to be injected once more.
func (f *fleet) judge(where string, r *result, attempt int) bool {
	f.t.Helper()
	f.t.Log(r.row(where))
	wrong, late := r.violations()
	switch {
	case len(wrong) == 0 && len(late) == 0:
		return true
	case len(wrong) > 0:
	case attempt < attempts:
		f.t.Logf("once more, as this machine was late by %v: %s", r.late, strings.Join(late, "; "))
		return false
	case r.late > tells:
		f.t.Logf("not judged, as this machine was late by %v, %d times: %s", r.late, attempts, strings.Join(late, "; "))
		return true
	}
	for _, v := range append(wrong, late...) {
		f.t.Errorf("%s, %s: %s", where, r.name, v)
	}
	f.t.Log(r.history())
	return true
}
