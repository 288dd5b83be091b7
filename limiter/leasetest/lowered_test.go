package leasetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A taker takes from one count under any of several limits.
type taker struct {
	name string
	take func(r *limiter.Rule, now limiter.Instant, cost int64) (ok bool)
}

// takers returns one of each kind: a store in memory, strict nodes, and nodes that lease.
func takers(a limiter.Algorithm) []taker {
	count, strict, leased := limiter.NewCount(a), NewLedger(a), NewLedger(a)
	return []taker{
		{"memory", func(r *limiter.Rule, now limiter.Instant, cost int64) bool { return count.Take(r, now, cost).OK }},
		{"strict", func(r *limiter.Rule, now limiter.Instant, cost int64) bool {
			return lendOne(strict, 1, now, limiter.LeaseRequest{Rule: r, Need: cost}).Served > 0
		}},
		{"leases", func(r *limiter.Rule, now limiter.Instant, cost int64) bool {
			l := lendOne(leased, 1, now, limiter.LeaseRequest{Rule: r, Need: cost, Want: cost})
			if l.Granted > 0 { // and returned at once
				back := [2]limiter.Return{{Events: limiter.Events{At: l.Decision.At, N: l.Granted}, Share: l.GrantedShare}}
				lendOne(leased, 1, now, limiter.LeaseRequest{Rule: r, Incarnation: 1, Returns: back})
			}
			return l.Served > 0
		}},
	}
}

// TestLoweredLimits uses most of a limit and lowers it: the key waits no longer than two windows of
// the new limit, and then gets what that allows.
func TestLoweredLimits(t *testing.T) {
	for _, a := range algorithms {
		high := mustRule(limiter.Rule{Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 10_000, Window: time.Minute}})
		low := mustRule(limiter.Rule{Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 10, Window: time.Minute}})
		for _, l := range takers(a.Algorithm) {
			if !l.take(high, epoch, 9000) {
				t.Fatalf("%s, %s: 9000 of 10000 are denied", a.name, l.name)
			}
			first, admitted := limiter.Never, 0
			for s := range limiter.Instant(300) {
				if l.take(low, epoch+s*sec, 1) {
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

// TestReturnAfterLoweredLimit lowers a limit of which more is used than the new one has, and
// returns a lease of before: that gives back none of what the new limit counts.
func TestReturnAfterLoweredLimit(t *testing.T) {
	for _, a := range algorithms {
		high := mustRule(limiter.Rule{Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 10_000, Window: time.Hour}})
		low := mustRule(limiter.Rule{Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 2, Window: time.Hour}})
		g := NewLedger(a.Algorithm)
		l := lendOne(g, 1, epoch, limiter.LeaseRequest{Rule: high, Need: 100, Want: 100})
		if l.Served != 100 || l.Granted < 10 {
			t.Fatalf("%s: served %d, granted %d, want 100 and 10 at least", a.name, l.Served, l.Granted)
		}
		back := limiter.LeaseRequest{
			Rule: low, Need: 1, Incarnation: 1, Returns: [2]limiter.Return{{Events: limiter.Events{At: l.Decision.At, N: l.Granted}, Share: l.GrantedShare}},
		}
		if got := lendOne(g, 1, epoch, back); got.Served != 0 {
			t.Errorf("%s: a take after the return is admitted, want the 100 events to count", a.name)
		}
		canceled := limiter.LeaseRequest{
			Rule: low, Need: 1, Incarnation: 1, Cancel: limiter.Events{At: l.Decision.At, N: 50},
			Lacked: 100,
		}
		if got := lendOne(g, 1, epoch, canceled); got.Served != 0 {
			t.Errorf("%s: a take after 50 are canceled is admitted, want the other 50 to count", a.name)
		}
		if got := usedAt(g, high, epoch); got != 50 {
			t.Errorf("%s: used under the old limit = %d, want 50", a.name, got)
		}
	}
}

// TestAlternatingLimits has nodes with an old and a new limit take from one bucket in turns, as
// while a configuration rolls out. In no span is more admitted than the larger capacity and what
// accrues at the larger rate.
func TestAlternatingLimits(t *testing.T) {
	for seed := range uint64(300) {
		for _, l := range takers(bucket) {
			if err := playAlternating(seed, l); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, l.name, err)
			}
		}
	}
}

// TestAlternatingLimitsFindsFault reads the fraction of an event that a bucket has accrued as a
// numerator over the new rate's denominator, and wants that found.
func TestAlternatingLimitsFindsFault(t *testing.T) {
	for seed := range uint64(300) {
		g := NewLedger(bucket)
		if err := playAlternating(seed, taker{take: func(r *limiter.Rule, now limiter.Instant, cost int64) bool {
			g.count.(*lendingBucket).misreadFraction(r)
			return lendOne(g, 1, now, limiter.LeaseRequest{Rule: r, Need: cost}).Served > 0
		}}); err != nil {
			t.Logf("seed %d: %v", seed, err)
			return
		}
	}
	t.Error("found in 0 of 300 histories, want one")
}

// misreadFraction has the fraction that has accrued be a numerator under r, whatever it was before.
func (b *lendingBucket) misreadFraction(r *limiter.Rule) {
	if _, per := r.Rate(); b.fraction < per {
		b.per = per
	}
}

// playAlternating has l take from a bucket under random limits. It returns an error if more is
// admitted in a span than the larger capacity and what accrues at the larger rate.
func playAlternating(seed uint64, l taker) error {
	rng := rand.New(rand.NewPCG(seed, 12))
	var rules []*limiter.Rule
	pauses := []limiter.Instant{1, 10, 100} // that a window has at least
	for range 2 + rng.IntN(2) {
		limit := limiter.Limit{
			Events: oneOf[int64](rng, 1, 10, 100, 1000, 10_000), Window: oneOf(rng, time.Second, time.Minute, time.Hour),
			Burst: oneOf[int64](rng, 0, 0, 5, 500),
		}
		if seed%2 == 1 { // rates that hardly differ, in parts of an event that do
			limit = limiter.Limit{Events: 998 + rng.Int64N(5), Window: time.Second, Burst: 2}
			pauses = []limiter.Instant{1000, 2000, 4000}
		}
		rules = append(rules, mustRule(limiter.Rule{Limit: limit}))
	}
	capacity, fastest := int64(0), rules[0]
	rate := func(r *limiter.Rule) float64 { return float64(r.Limit.Events) / float64(r.Limit.Window) }
	for _, r := range rules {
		capacity = max(capacity, r.Capacity())
		if rate(r) > rate(fastest) {
			fastest = r
		}
	}
	// What is admitted is a level that falls at the larger rate and never exceeds the larger capacity.
	level, now := new(lendingBucket), epoch
	sum := mustRule(limiter.Rule{Limit: limiter.Limit{
		Events: fastest.Limit.Events, Window: fastest.Limit.Window, Burst: limiter.MaxEvents,
	}})
	rng = rand.New(rand.NewPCG(seed, 13))
	for range 300 {
		r := rules[rng.IntN(len(rules))]
		now += randomInstant(rng, 1+window(r)/oneOf(rng, pauses...))
		cost := 1 + rng.Int64N(r.Capacity())
		if !l.take(r, now, cost) {
			continue
		}
		level.advance(sum, now)
		if level.missing += cost; level.missing > capacity {
			return fmt.Errorf("%d admitted under %+v, want %d at most", level.missing, r.Limit, capacity)
		}
	}
	return nil
}
