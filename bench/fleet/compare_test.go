package main

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// epoch is an instant at which a second, a minute and an hour begin.
const epoch limiter.Instant = 1_800_000_000_000_000

func mustRule(t *testing.T, p policy, events int64, window time.Duration) *limiter.Rule {
	t.Helper()
	r, err := p.rule(1, limiter.Limit{Events: events, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCompareWithExactAlgorithm(t *testing.T) {
	rule := mustRule(t, leasing(limiter.FixedWindow), 2, time.Second)
	at := func(ms int) limiter.Instant { return epoch + limiter.Instant(ms*1000) }
	for _, c := range []struct {
		name  string
		takes []decided
		want  comparison
	}{
		{"nothing", nil, comparison{}},
		{"as the exact algorithm", []decided{
			{at(0), 0, admitted}, {at(1), 0, admitted}, {at(2), 0, rejected}, {at(1000), 0, admitted},
		}, comparison{admitted: 3, exact: 3}},
		{"one too many", []decided{
			{at(0), 0, admitted}, {at(1), 0, admitted}, {at(2), 0, admitted},
		}, comparison{admitted: 3, exact: 2, over: 1}},
		{"one too few", []decided{
			{at(0), 0, admitted}, {at(1), 0, rejected},
		}, comparison{admitted: 1, exact: 2, short: 1}},
		{"another take than the exact algorithm", []decided{
			{at(0), 0, rejected}, {at(1), 0, admitted}, {at(2), 0, admitted},
		}, comparison{admitted: 2, exact: 2}},
		{"one window's shortage does not offset another's excess", []decided{
			{at(0), 0, rejected}, {at(1000), 0, admitted}, {at(1001), 0, admitted}, {at(1002), 0, admitted},
		}, comparison{admitted: 3, exact: 3, over: 1, short: 1}},
		{"in the order of the decisions", []decided{
			{at(1000), 0, admitted}, {at(999), 0, rejected}, {at(1), 0, admitted}, {at(0), 0, admitted},
		}, comparison{admitted: 3, exact: 3}},
		{"one key's shortage does not offset another's excess", []decided{
			{at(0), 0, admitted}, {at(1), 0, admitted}, {at(2), 0, admitted}, {at(0), 1, rejected},
		}, comparison{admitted: 3, exact: 3, over: 1, short: 1}},
		{"failed takes are left out", []decided{
			{at(0), 0, failed}, {at(1), 0, admitted}, {at(2), 0, admitted},
		}, comparison{admitted: 2, exact: 2}},
	} {
		if got := compare(rule, 2, c.takes); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestCompareKeepsTheLargestExcess has a bucket that is ahead of the exact algorithm first, and behind
// it later.
func TestCompareKeepsTheLargestExcess(t *testing.T) {
	rule := mustRule(t, leasing(limiter.TokenBucket), 1, time.Second)
	takes := []decided{
		{epoch, 0, admitted}, {epoch + 1, 0, admitted}, {epoch + 1_000_000, 0, rejected}, {epoch + 2_000_000, 0, rejected},
	}
	want := comparison{admitted: 2, exact: 3, over: 1, short: 1}
	if got := compare(rule, 1, takes); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestOutcomesByTrial(t *testing.T) {
	rule := mustRule(t, leasing(limiter.FixedWindow), 2, time.Second)
	trials := []*trial{
		{rule: rule, shape: shape{keys: 1}},
		{rule: rule, shape: shape{keys: 1}},
	}
	ms := time.Millisecond
	got := outcomes(trials,
		[]arrival{{due: 0}, {due: 10 * ms}, {due: 11 * ms, trial: 1}, {due: 12 * ms}, {due: 13 * ms}, {due: 14 * ms}},
		[]answer{
			{at: epoch, took: 9 * ms, verdict: admitted}, // due during the warm-up
			{at: epoch, took: 3 * ms, verdict: admitted, source: limiter.FromLease},
			{at: epoch, took: 7 * ms, verdict: admitted},
			{at: epoch, took: 1 * ms, verdict: admitted, source: limiter.FromLease},
			{at: epoch, took: 2 * ms, verdict: rejected},
			{at: 0, took: 50 * ms, verdict: failed},
		}, 10*ms)

	first := got[0]
	if want := (comparison{admitted: 3, exact: 2, over: 1}); first.comparison != want {
		t.Errorf("comparison = %+v, want %+v", first.comparison, want)
	}
	if first.takes != 4 || first.failed != 1 || first.local != 2 {
		t.Errorf("%d takes, %d failed, %d local; want 4, 1, 2", first.takes, first.failed, first.local)
	}
	if got, want := first.latency(0.5), 2*ms; got != want {
		t.Errorf("median latency = %v, want %v", got, want)
	}
	if got, want := first.localShare(), 2.0/3; got != want {
		t.Errorf("local share = %g, want %g", got, want)
	}
	if got, want := first.overAdmission(), 0.5; got != want {
		t.Errorf("over-admission = %g, want %g", got, want)
	}
	if got := got[1]; got.takes != 1 || got.admitted != 1 || got.local != 0 {
		t.Errorf("the other trial: %d takes, %d admitted, %d local; want 1, 1, 0", got.takes, got.admitted, got.local)
	}
}
