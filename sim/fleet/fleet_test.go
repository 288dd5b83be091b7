package fleet

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// play replays requests of ten keys, first within their limit, and then a flood of one of the keys.
func play(t *testing.T, o Options, f Fault) Outcome {
	t.Helper()
	fleet, err := New(o, f)
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	at := limiter.Instant(1_800_000_000_000_000)
	for i := range 20_000 {
		r := sim.Arrival{At: at, Key: sim.Key(rng.IntN(10)), Cost: 1}
		if at += 12_000; i > 10_000 && i%2 == 0 {
			r.Key = 0
		}
		fleet.Add(r)
	}
	return fleet.Outcome()
}

func TestFleet(t *testing.T) {
	for _, a := range []limiter.Algorithm{
		{Kind: limiter.TokenBucket}, {Kind: limiter.FixedWindow}, {Kind: limiter.SlidingWindow}, {Kind: limiter.SlidingWindowLog},
	} {
		for _, spread := range []Spread{Even, Sticky, Zipf} {
			t.Run(a.Kind.String()+"/"+spread.String(), func(t *testing.T) {
				t.Parallel()
				o := Options{
					Rule:  limiter.Rule{Algorithm: a, Limit: limiter.Limit{Events: 1000, Window: time.Minute}},
					Nodes: 5, RoundTrip: time.Millisecond, Spread: spread, Seed: 1,
				}
				got := play(t, o, None)
				if got.Rejected == 0 || got.Admitted+got.Rejected != 20_000 {
					t.Errorf("%d admitted, %d rejected, want 20000 in all and some rejections", got.Admitted, got.Rejected)
				}
				if got.OverAdmitted > 20 || got.FalselyRejected > got.Admitted/50 {
					t.Errorf("over-admitted, falsely rejected = %d, %d: want none or few, and less than 2 %%", got.OverAdmitted, got.FalselyRejected)
				}
				if got.LocalShare < 0.5 || got.CallsPer1000 == 0 || got.CallsPer1000 > 500 || got.Outage != 0 {
					t.Errorf("%v local, %v calls per 1000, %d in outage: want most local, few calls and no outage",
						got.LocalShare, got.CallsPer1000, got.Outage)
				}
			})
		}
	}
}

func TestFaults(t *testing.T) {
	o := Options{
		Rule:  limiter.Rule{Limit: limiter.Limit{Events: 1000, Window: time.Minute}},
		Nodes: 5, RoundTrip: time.Millisecond, Seed: 1,
	}
	lost := play(t, o, NodeLost)
	if lost.OverAdmitted > 20 || lost.Outage != 0 {
		t.Errorf("a node is lost: %+v, want no or few more admitted and no outage", lost)
	}
	away := play(t, o, StoreAway)
	if away.Outage == 0 || away.OverAdmitted > 2000 {
		t.Errorf("the store is away: %+v, want decisions in the outage and at most twice the limit more", away)
	}
	o.Rule.OnOutage = limiter.OutageOpen
	if open := play(t, o, StoreAway); open.OverAdmitted <= away.OverAdmitted {
		t.Errorf("over-admitted with open = %d, want more than the %d of local", open.OverAdmitted, away.OverAdmitted)
	}
	if _, err := New(Options{Rule: o.Rule, Nodes: 0}, None); err == nil {
		t.Error("a fleet without nodes has no error")
	}
	if _, err := ParseSpread("odd"); err == nil {
		t.Error(`there is a spread "odd"`)
	}
	if s, err := ParseSpread("zipf"); s != Zipf || err != nil {
		t.Errorf("spread zipf = %v, %v", s, err)
	}
}
