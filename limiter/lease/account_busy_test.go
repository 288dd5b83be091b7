package lease

import (
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestSoon checks the horizon. It is as long as 128 takes need, but at least 20 ms, and at most 100
// ms and a 600th of the window. It is 0 if fewer than 8 takes come within it.
func TestSoon(t *testing.T) {
	const now = instant(testStart)
	for _, test := range []struct {
		name       string
		window     time.Duration
		strict     bool
		rate, cost int64 // events per second of the recent demand; events of each take
		us, events int64
	}{
		{"few takes", time.Minute, false, 79, 1, 0, 0},
		{"enough takes", time.Minute, false, 100, 1, 100 * ms, 10},
		{"many", time.Minute, false, 6400, 1, 20 * ms, 128},
		{"very many", time.Minute, false, 100_000, 1, 20 * ms, 2000},
		{"few takes of many events", time.Minute, false, 7900, 100, 0, 0},
		{"many takes of many events", time.Minute, false, 512_000, 100, 25 * ms, 12_800},
		{"a short window", 6 * time.Second, false, 2000, 1, 10 * ms, 20},
		{"too short a window", time.Second, false, 4000, 1, 0, 0},
		{"strict", time.Minute, true, 6400, 1, 0, 0},
	} {
		r, err := limiter.NewRule(limiter.Rule{
			Algorithm: fixed, Limit: limiter.Limit{Events: 1_000_000, Window: test.window}, Strict: test.strict,
		})
		if err != nil {
			t.Fatal(err)
		}
		a := newAccount()
		a.request(r, now, 0, 0, new(limiter.LeaseRequest))
		a.recent = float32(test.rate * recentHorizon / sec)
		if us, events := a.horizon(r, now, test.cost); us != test.us || events != test.events {
			t.Errorf("%s: horizon = %d µs, %d events, want %d and %d", test.name, us, events, test.us, test.events)
		}
	}
}

// TestSoonForgets checks that recent demand counts for less the older it is, and that repeated
// denials do too.
func TestSoonForgets(t *testing.T) {
	r := mustRule(t, fixed, limiter.Limit{Events: 1_000_000, Window: time.Minute})
	a, now := newAccount(), instant(testStart)
	a.request(r, now, 200, 0, new(limiter.LeaseRequest))
	later := now.plus(recentHorizon)
	for _, test := range []struct {
		at     instant
		events int64
	}{{now, 10}, {later, 0}} {
		if _, events := a.horizon(r, test.at, 1); events != test.events {
			t.Errorf("events within the horizon, %d µs after takes of 200 = %d, want %d", test.at-now, events, test.events)
		}
	}
	a.noteRepeated(later, 200) // 74 of the first 200 are left
	if _, events := a.horizon(r, later, 1); events != 13 {
		t.Errorf("events within the horizon, after 200 more = %d, want 13", events)
	}
}

// hotAccount returns an account with a demand of 6400 events per second, 128 of them within the
// horizon. The store has left events of its limit left.
func hotAccount(r *limiter.Rule, now instant, left int64) account {
	a := newAccount()
	a.request(r, now, 1, 0, new(limiter.LeaseRequest))
	a.recent, a.incarnation, a.seenAt, a.used = 12_800, 1, limiter.Instant(now), r.Capacity()-left
	return a
}

// TestWantBusy checks that a request wants what takes spend within the horizon, if the usual part
// of what is left is less. All that is left may be granted for such a request.
func TestWantBusy(t *testing.T) {
	for _, test := range []struct {
		name      string
		algorithm limiter.Algorithm
		left      int64
		busy      bool
	}{
		{"bucket that is nearly full", bucket, 90_000, false},
		{"bucket that is not", bucket, 70_000, true}, // otherwise the request wants 8 events
		{"bucket, near the limit", bucket, 100, true},
		{"window, far from the limit", fixed, 90_000, false},
		{"window, near the limit", fixed, 100, true},
		{"log, near the limit", slidingWindowLog, 100, false},
	} {
		r, now := mustRule(t, test.algorithm, limiter.Limit{Events: 100_000, Window: time.Minute}), instant(testStart)
		a, l := hotAccount(r, now, test.left), limiter.LeaseRequest{Nodes: 4}
		a.demand = 1000 * float32(r.LeaseTime()) / sec
		a.request(r, now, 1, 0, &l)
		if l.Busy != test.busy || l.Busy && (l.Want != 128 || l.Divisor() != 1) {
			t.Errorf("%s: want %d, busy %v, divisor %d, want 128, %v and 1",
				test.name, l.Want, l.Busy, l.Divisor(), test.busy)
		}
	}
}

// TestDenialIsRenewed has the store deny twice in a row. The second denial is remembered for three
// horizons. Until the last of these, nothing is requested in the background.
func TestDenialIsRenewed(t *testing.T) {
	r, now := mustRule(t, sliding(1), limiter.Limit{Events: 100_000, Window: time.Minute}), instant(testStart)
	a := hotAccount(r, now, 0)
	deny := func() {
		at := limiter.Instant(now)
		a.applyReply(r, now, now, &limiter.LeaseRequest{Rule: r, Incarnation: 1, Decision: limiter.Decision{
			At: at, Limit: r.Capacity(), RetryAt: at + ms, ResetAt: at + sec}}, 0, false)
	}
	deny()
	if !a.denies(r, now, 1) || a.denies(r, now.plus(ms), 1) {
		t.Error("a first denial is not remembered until the retry instant, or for longer")
	}
	now = now.plus(2 * ms)
	deny()
	for _, test := range []struct {
		after         int64
		denies, needs bool
	}{
		{0, true, false},
		{39 * ms, true, false},
		{41 * ms, true, true},
		{59 * ms, true, true},
		{61 * ms, false, false},
	} {
		at := now.plus(test.after)
		denies, needs := a.denies(r, at, 1), a.exhausted(r, at) && a.needsRefill(r, at, 2*ms)
		if denies != test.denies || needs != test.needs {
			t.Errorf("%d µs after the denial: denies, needs a refill = %v, %v, want %v, %v",
				test.after, denies, needs, test.denies, test.needs)
		}
	}
}

// TestBreachOfDenialInBackground has the store deny when no take waits. The first take that the
// node then denies is the breach.
func TestBreachOfDenialInBackground(t *testing.T) {
	r, now := mustRule(t, fixed, limiter.Limit{Events: 100_000, Window: time.Minute}), instant(testStart)
	a, at := hotAccount(r, now, 0), limiter.Instant(now)
	a.applyReply(r, now, now, &limiter.LeaseRequest{Rule: r, Incarnation: 1, Decision: limiter.Decision{
		At: at, Limit: r.Capacity(), RetryAt: at + sec, ResetAt: at + sec}}, 0, false)
	for i, want := range []bool{true, false} {
		var d limiter.Decision
		if !a.take(r, now.plus(ms), 1, &d) || d.OK || d.Breach != want {
			t.Errorf("take %d = %+v, want a denial, breach %v", i, d, want)
		}
	}
}
