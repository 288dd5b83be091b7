package limiter

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A lowering asks one count for events under any of several limits: as a memory store does, as strict nodes do, as nodes that
// lease do.
type lowering struct {
	name string
	take func(r *Rule, now Instant, cost int64) bool
}

func lowerings(a Algorithm) []lowering {
	count, strict, leased := NewCount(a), NewLedger(a), NewLedger(a)
	lend := func(g *Ledger, l LeaseRequest, now Instant) bool {
		loans := []LeaseRequest{l}
		Lend(1, 1, now, []*Ledger{g}, loans)
		back := loans[0]
		if back.Granted > 0 { // at once, unspent
			Lend(1, 1, now, []*Ledger{g}, []LeaseRequest{{Rule: l.Rule, Incarnation: 1, Returns: [2]Events{{back.Decision.At, back.Granted}}}})
		}
		return back.Served > 0
	}
	return []lowering{
		{"memory", func(r *Rule, now Instant, cost int64) bool { return count.Take(r, now, cost).OK }},
		{"strict", func(r *Rule, now Instant, cost int64) bool {
			return lend(strict, LeaseRequest{Rule: r, Need: cost}, now)
		}},
		{"leases", func(r *Rule, now Instant, cost int64) bool {
			return lend(leased, LeaseRequest{Rule: r, Need: cost, Want: cost}, now)
		}},
	}
}

// TestLoweredLimits uses most of a limit and lowers it: the key waits no longer than two windows of the new limit, and then gets
// what that allows.
func TestLoweredLimits(t *testing.T) {
	for _, a := range every {
		high := mustNew(Rule{Algorithm: a.Algorithm, Limit: Limit{Events: 10_000, Window: time.Minute}, MaxOvershoot: 0.01})
		low := mustNew(Rule{Algorithm: a.Algorithm, Limit: Limit{Events: 10, Window: time.Minute}, MaxOvershoot: 0.01})
		for _, l := range lowerings(a.Algorithm) {
			if !l.take(high, begins, 9000) {
				t.Fatalf("%s, %s: 9000 of 10000 are denied", a.name, l.name)
			}
			first, admitted := Never, 0
			for s := range Instant(300) {
				if l.take(low, begins+s*sec, 1) {
					first = min(first, s)
					admitted++
				}
			}
			if first > 120 {
				t.Errorf("%s, %s: first admitted after %d s, want 120 s at most", a.name, l.name, first)
			}
			if admitted < 28 || admitted > 50 {
				t.Errorf("%s, %s: admitted in 300 s = %d, want 28 to 50 of 10 per minute", a.name, l.name, admitted)
			}
		}
	}
}

// TestAlternatingLimits has nodes with an old and a new limit take from one bucket in turns, as they do while a configuration rolls
// out. In no span is more admitted than the larger capacity and what accrues at the larger rate.
func TestAlternatingLimits(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 12))
		var rules []*Rule
		for range 2 + rng.IntN(2) {
			rules = append(rules, mustNew(Rule{MaxOvershoot: 0.01, Limit: Limit{
				Events: oneOf[int64](rng, 1, 10, 100, 1000, 10_000), Window: oneOf(rng, time.Second, time.Minute, time.Hour),
				Burst: oneOf[int64](rng, 0, 0, 5, 500),
			}}))
		}
		for _, l := range lowerings(bucket) {
			checkAlternating(t, rand.New(rand.NewPCG(seed, 13)), rules, l)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

func checkAlternating(t *testing.T, rng *rand.Rand, rules []*Rule, l lowering) {
	t.Helper()
	capacity, fastest := int64(0), rules[0]
	for _, r := range rules {
		capacity = max(capacity, r.capacity)
		if mulDiv(r.refill, 1<<40, r.per) > mulDiv(fastest.refill, 1<<40, fastest.per) {
			fastest = r
		}
	}
	// What is admitted is a level that falls at the larger rate and never exceeds the larger capacity.
	level, now := new(tokenBucket), begins
	sum := mustNew(Rule{Limit: Limit{Events: fastest.Limit.Events, Window: fastest.Limit.Window, Burst: MaxEvents}})
	for range 300 {
		r := rules[rng.IntN(len(rules))]
		now += Instant(rng.Int64N(1 + r.window/oneOf[int64](rng, 1, 10, 100)))
		cost := 1 + rng.Int64N(r.capacity)
		if !l.take(r, now, cost) {
			continue
		}
		level.advance(sum, now)
		if level.missing += cost; level.missing > capacity+1 { // and the fraction that a change of the rate rounds
			t.Errorf("%s: %d admitted under %+v, want %d at most", l.name, level.missing, r.Limit, capacity)
			return
		}
	}
}
