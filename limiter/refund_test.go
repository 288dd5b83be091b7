package limiter

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestRefundsGiveNothingAway plays random histories twice: with takes that are refunded at any age,
// and without these takes. The history without them admits each take that the history with them
// admits, and never has less left. In a bucket, each of these takes is refunded before the next of
// them comes: TestAdmissionBounds has other orders.
func TestRefundsGiveNothingAway(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			for seed := range uint64(200) {
				p := newRefunding(a.Algorithm, seed)
				for i := range 300 {
					if err := p.step(); err != nil {
						t.Fatalf("seed %d, step %d, %+v at %d: %v", seed, i, p.rule.Limit, p.now, err)
					}
				}
			}
		})
	}
}

// A refunding is one history of TestRefundsGiveNothingAway.
type refunding struct {
	*rand.Rand
	rule        *Rule
	now         Instant
	count, kept Count        // with, and without the takes that are refunded
	pending     []refundable // takes that will be refunded
}

func newRefunding(a Algorithm, seed uint64) *refunding {
	p := &refunding{Rand: rand.New(rand.NewPCG(seed, 8)), count: NewCount(a), kept: NewCount(a), now: begins}
	p.rule = mustNew(Rule{Algorithm: a, Limit: Limit{
		Events: oneOf[int64](p.Rand, 1, 2, 3, 7, 20, 1009),
		Window: oneOf(p.Rand, 300*time.Millisecond, time.Second, 7*time.Second, time.Minute),
		Burst:  oneOf[int64](p.Rand, 0, 0, 1, 5, 50),
	}})
	return p
}

func (p *refunding) step() error {
	if p.IntN(3) > 0 {
		p.now += Instant(p.Int64N(1 + oneOf(p.Rand, 3, p.rule.window/p.rule.Limit.Events, p.rule.window)))
	}
	if len(p.pending) > 0 && p.IntN(3) == 0 {
		i := p.IntN(len(p.pending))
		refunded := p.pending[i]
		p.pending = append(p.pending[:i], p.pending[i+1:]...)
		p.count.Refund(p.rule, p.now, refunded.seen, refunded.cost)
	}
	at := p.now - Instant(oneOf(p.Rand, 0, 0, p.Int64N(LateReading)))
	cost := oneOf(p.Rand, 1, 1, 2, 1+p.Int64N(p.rule.capacity))
	alone := len(p.pending) == 0 || p.rule.Algorithm.Kind != TokenBucket
	switch d := p.count.Take(p.rule, at, cost); {
	case d.OK && alone && p.IntN(2) == 0:
		p.pending = append(p.pending, refundable{d.Seen(), cost})
	case d.OK:
		if d := p.kept.Take(p.rule, d.At, cost); !d.OK {
			return fmt.Errorf("%d were taken, and without what was refunded there would be %d", cost, d.Remaining)
		}
	}
	got, most := p.count.Peek(p.rule, p.now, 1), p.kept.Peek(p.rule, p.now, 1)
	if got.Remaining > most.Remaining || got.ResetAt < most.ResetAt {
		return fmt.Errorf("got %+v, want no more left and no earlier reset than %+v, as without what was refunded", got, most)
	}
	return nil
}

// TestFloodOfDeniedTakesDrainsNothing takes an event of a bucket a thousand times in a second. It
// refunds each take a millisecond later, as if another zone had denied it. Half a millisecond after
// each take, other takes take what has accrued. In the end, as much is left as without the flood,
// less at most one event and what accrues in a millisecond.
func TestFloodOfDeniedTakesDrainsNothing(t *testing.T) {
	const age = ms
	for _, rate := range []int64{10, 100, 1000, 10_000} { // events a second, and at once
		for _, used := range []int64{rate * 9 / 10, 1} {
			t.Run(fmt.Sprintf("%d of %d used", used, rate), func(t *testing.T) {
				r := mustRule(t, bucket, Limit{Events: rate, Window: time.Second})
				flooded, quiet := NewCount(bucket), NewCount(bucket)
				take := func(c Count, now Instant, cost int64) Decision {
					t.Helper()
					d := c.Take(r, now, cost)
					if !d.OK {
						t.Fatalf("take of %d after %d µs = %+v, want OK", cost, now-begins, d)
					}
					return d
				}
				take(flooded, begins, used)
				take(quiet, begins, used)
				others, now := int64(0), Instant(begins)
				for range 1000 {
					denied := take(flooded, now, 1)
					if n := int64(now+age/2-begins)*rate/sec - others; n > 0 {
						take(flooded, now+age/2, n)
						take(quiet, now+age/2, n)
						others += n
					}
					now += age
					flooded.Refund(r, now, denied.Seen(), 1)
				}
				got, most := flooded.Peek(r, now, 1).Remaining, quiet.Peek(r, now, 1).Remaining
				if least := min(most, rate-mulDivUp(age, rate, sec)-1); got < least || got > most {
					t.Errorf("left after a second = %d, want %d to %d", got, least, most)
				}
			})
		}
	}
}

// TestRefundRestoresSeenBucket refunds takes of a bucket in any state. It is known what the bucket
// lacked right after each take. If nothing else happens, the bucket is as it was before, to the
// fraction of an event. Other takes may take what has accrued in between.
func TestRefundRestoresSeenBucket(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 10_000 {
		r := mustNew(Rule{Limit: Limit{Events: oneOf[int64](rng, 1, 3, 7, 1009), Window: 7 * time.Second, Burst: 10}})
		got := tokenBucket{at: begins, missing: 1 + rng.Int64N(9)}
		got.advance(r, begins+Instant(rng.Int64N(r.window)))
		want, at, n := got, got.at, 1+rng.Int64N(r.capacity-got.missing)
		got.missing += n
		seen := got.missing
		later := at + Instant(rng.Int64N(2*r.window))
		others := rng.Int64N(3)
		for _, b := range []*tokenBucket{&got, &want} {
			b.advance(r, later)
			b.missing += others
		}
		got.undo(r, Events{at, n}, seen)
		if got.scarce = 0; got != want {
			t.Fatalf("%d of %+v, seen %d, refunded %d µs later = %+v, want %+v", n, r.Limit, seen, later-at, got, want)
		}
	}
}
