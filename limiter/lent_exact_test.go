package limiter

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestLentAnswersAreExact lends, takes back, undoes and denies at random, on clocks that may be set back, and looks at every answer:
// what was denied is served at RetryAt and all is left at ResetAt, if nothing else is asked for, and neither a microsecond earlier.
// While leases are out, RetryAt is no later than the end of the last one.
func TestLentAnswersAreExact(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			for seed := range uint64(100) {
				playLedger(t, a.Algorithm, seed)
			}
		})
	}
}

func playLedger(t *testing.T, a Algorithm, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 6))
	r := mustNew(Rule{Algorithm: a, MaxOvershoot: oneOf(rng, 0.01, 0.1, 1), Limit: Limit{
		Events: oneOf[int64](rng, 1, 7, 100, 1009), Window: oneOf(rng, time.Second, 7*time.Second, time.Minute),
	}})
	g, now := NewLedger(a), begins
	var lots []Events
	for range 60 {
		switch rng.IntN(12) {
		case 0:
			now -= Instant(rng.Int64N(3 * sec))
		case 1:
			now += Instant(rng.Int64N(r.window))
		default:
			now += Instant(rng.Int64N(1 + r.window/20))
		}
		l := LeaseRequest{Rule: r, Incarnation: 1, Need: rng.Int64N(1 + r.capacity/oneOf[int64](rng, 1, 3, 30)), Want: rng.Int64N(r.capacity)}
		if len(lots) > 0 && rng.IntN(3) == 0 {
			l.Returns[0], lots = lots[0], lots[1:]
		}
		loans := []LeaseRequest{l}
		Lend(1, 1, now, []*Ledger{g}, loans)
		if l = loans[0]; l.Granted > 0 {
			lots = append(lots, Events{l.Decision.At, rng.Int64N(1 + l.Granted)})
		}
		checkLent(t, g, &l, seed)
		if t.Failed() {
			return
		}
	}
}

// usedAt returns how much of a ledger will be consumed at the instant at.
func usedAt(g *Ledger, r *Rule, at Instant) int64 {
	c := g.count.clone()
	c.advance(r, at)
	return c.consumed()
}

// checkLent checks the answer to l, as which the ledger is.
func checkLent(t *testing.T, g *Ledger, l *LeaseRequest, seed uint64) {
	t.Helper()
	r, d := l.Rule, &l.Decision
	if need := max(1, l.Need); !d.OK && d.RetryAt != Never {
		c := g.count.clone()
		c.advance(r, d.At)
		leased := c.leasedUntil()
		if leased > d.At && d.RetryAt > leased {
			t.Errorf("seed %d: retry is %d after %+v, want no later than the last lease, %d", seed, d.RetryAt-d.At, *l, leased-d.At)
		}
		if left := r.capacity - usedAt(g, r, d.RetryAt); left < need && d.RetryAt != leased {
			t.Errorf("seed %d: left at retry, %d after %+v = %d, want %d", seed, d.RetryAt-d.At, *l, left, need)
		}
		if left := r.capacity - usedAt(g, r, d.RetryAt-1); left >= need {
			t.Errorf("seed %d: left before retry, %d after %+v = %d, want less than %d", seed, d.RetryAt-d.At, *l, left, need)
		}
	}
	if used := usedAt(g, r, d.ResetAt); used != 0 {
		t.Errorf("seed %d: used at reset, %d after %+v = %d, want 0", seed, d.ResetAt-d.At, *l, used)
	}
	if used := usedAt(g, r, d.ResetAt-1); used == 0 && d.ResetAt > d.At {
		t.Errorf("seed %d: used before reset, %d after %+v = 0, want some", seed, d.ResetAt-d.At, *l)
	}
}
