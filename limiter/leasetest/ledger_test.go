package leasetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestAnswersAreExact lends, takes back and denies at random, by clocks that may be set back, and
// checks every answer: if nothing else is asked for, what was denied is served at RetryAt, and all
// is left at ResetAt, and neither a microsecond earlier. While leases are out, RetryAt is no later
// than the end of the last one. While parts of a bucket are open, it refills by whole microseconds
// at a time, so a few more or less do not matter.
func TestAnswersAreExact(t *testing.T) {
	for _, a := range algorithms {
		t.Run(a.name, func(t *testing.T) {
			for seed := range uint64(100) {
				checkAnswers(t, a.Algorithm, seed)
			}
		})
	}
}

func checkAnswers(t *testing.T, a limiter.Algorithm, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 6))
	r := mustRule(limiter.Rule{Algorithm: a, Limit: limiter.Limit{
		Events: oneOf[int64](rng, 1, 7, 100, 1009), Window: oneOf(rng, time.Second, 7*time.Second, time.Minute),
	}})
	g, now, capacity := NewLedger(a), epoch, r.Capacity()
	var leases []limiter.Return
	for range 60 {
		switch rng.IntN(12) {
		case 0:
			now -= limiter.Instant(rng.Int64N(3 * sec))
		case 1:
			now += randomInstant(rng, window(r))
		default:
			now += randomInstant(rng, 1+window(r)/20)
		}
		l := limiter.LeaseRequest{
			Rule: r, Incarnation: 1, Need: rng.Int64N(1 + capacity/oneOf[int64](rng, 1, 3, 30)), Want: rng.Int64N(capacity),
			Share: rng.Int64N(limiter.Shares),
		}
		if len(leases) > 0 && rng.IntN(3) == 0 {
			l.Returns[0], leases = leases[0], leases[1:]
		}
		if l = lendOne(g, 1, now, l); l.Granted+l.GrantedShare > 0 {
			leases = append(leases, limiter.Return{
				Events: limiter.Events{At: l.Decision.At, N: rng.Int64N(1 + l.Granted)}, Share: l.GrantedShare,
			})
		}
		checkAnswer(t, g, &l, seed)
		if t.Failed() {
			return
		}
	}
}

// lendOne answers one request.
func lendOne(g *Ledger, incarnation uint64, now limiter.Instant, l limiter.LeaseRequest) limiter.LeaseRequest {
	requests := []limiter.LeaseRequest{l}
	Lend(incarnation, now, []*Ledger{g}, requests)
	return requests[0]
}

// usedAt returns how much of a ledger will be consumed at the instant at.
func usedAt(g *Ledger, r *limiter.Rule, at limiter.Instant) int64 {
	c := g.count.clone()
	c.advance(r, at)
	return c.consumed()
}

// checkAnswer checks the answer to l, the last one of g.
func checkAnswer(t *testing.T, g *Ledger, l *limiter.LeaseRequest, seed uint64) {
	t.Helper()
	r, d, early := l.Rule, &l.Decision, limiter.Instant(1)
	if b, ok := g.count.(*lendingBucket); ok && b.shares() > 0 {
		early += 4 * limiter.Instant(limiter.Shares/(limiter.Shares-b.shares()))
	}
	if need := max(1, l.Need); !d.OK && d.RetryAt != limiter.Never {
		c := g.count.clone()
		c.advance(r, d.At)
		leased := c.leasedUntil()
		if leased > d.At && d.RetryAt > leased {
			t.Errorf("seed %d: retry is %d after %+v, want no later than the last lease, %d", seed, d.RetryAt-d.At, *l, leased-d.At)
		}
		if left := r.Capacity() - usedAt(g, r, d.RetryAt+early-1); left < need && d.RetryAt != leased {
			t.Errorf("seed %d: left at retry, %d after %+v = %d, want %d", seed, d.RetryAt-d.At, *l, left, need)
		}
		if left := r.Capacity() - usedAt(g, r, d.RetryAt-early); left >= need {
			t.Errorf("seed %d: left before retry, %d after %+v = %d, want less than %d", seed, d.RetryAt-d.At, *l, left, need)
		}
	}
	if used := usedAt(g, r, d.ResetAt+early-1); used != 0 {
		t.Errorf("seed %d: used at reset, %d after %+v = %d, want 0", seed, d.ResetAt-d.At, *l, used)
	}
	if used := usedAt(g, r, d.ResetAt-early); used == 0 && d.ResetAt > d.At {
		t.Errorf("seed %d: used before reset, %d after %+v = 0, want some", seed, d.ResetAt-d.At, *l)
	}
}

// TestShareShrinksWithNodes divides what is left of a limit.
func TestShareShrinksWithNodes(t *testing.T) {
	r := mustRule(limiter.Rule{Algorithm: fixed, Limit: limiter.Limit{Events: 100_000, Window: time.Minute}})
	for _, test := range []struct {
		nodes   int
		granted int64 // of 80,000 that are left after one is served
	}{
		{0, 40_000}, {1, 40_000}, {2, 26_666}, {10, 4210}, {200, 200}, {8191, 4}, {32_767, 1}, {40_000, 1},
	} {
		g := NewLedger(fixed)
		lendOne(g, 1, epoch, limiter.LeaseRequest{Rule: r, Need: 19_999})
		l := lendOne(g, 1, epoch, limiter.LeaseRequest{Rule: r, Need: 1, Want: limiter.MaxEvents, Nodes: test.nodes})
		if l.Served != 1 || l.Granted != test.granted {
			t.Errorf("served and granted to one of %d nodes = %d and %d, want 1 and %d", test.nodes, l.Served, l.Granted, test.granted)
		}
	}
	large := mustRule(limiter.Rule{Algorithm: fixed, Limit: limiter.Limit{Events: limiter.MaxEvents, Window: time.Minute}})
	l := lendOne(NewLedger(fixed), 1, epoch, limiter.LeaseRequest{Rule: large, Need: 1, More: limiter.MaxEvents})
	if l.Served != limiter.MaxMore+1 {
		t.Errorf("served to a great many waiters = %d, want %d", l.Served, limiter.MaxMore+1)
	}
}

// TestDenialDeniesWholeCall sends several requests in one call: when one of them is denied, nothing
// is served or granted to any. Returns are taken all the same.
func TestDenialDeniesWholeCall(t *testing.T) {
	const now = 1020 * sec
	wide := mustRule(limiter.Rule{ID: 1, Algorithm: fixed, Limit: limiter.Limit{Events: 100, Window: time.Minute}})
	narrow := mustRule(limiter.Rule{ID: 2, Algorithm: fixed, Limit: limiter.Limit{Events: 1, Window: time.Minute}})
	ledgers := []*Ledger{NewLedger(fixed), NewLedger(fixed)}
	l := []limiter.LeaseRequest{{Rule: wide, Need: 2, Want: 64}, {Rule: narrow, Need: 1}}
	Lend(9, now, ledgers, l)
	if l[0].Served != 2 || l[0].Granted != 49 || l[1].Served != 1 || l[0].Incarnation != 9 {
		t.Fatalf("answers = %+v, want 2 served and 49 granted of the first, 1 served of the second, by incarnation 9", l)
	}
	l = []limiter.LeaseRequest{
		{Rule: wide, Need: 2, Want: 64, Incarnation: 9, Returns: [2]limiter.Return{{Events: limiter.Events{At: now, N: 4}}}},
		{Rule: narrow, Need: 1},
	}
	Lend(9, now, ledgers, l)
	for i, want := range []struct {
		ok   bool
		left int64
	}{{true, 100 - 51 + 4}, {false, 0}} {
		if d := l[i].Decision; l[i].Served != 0 || l[i].Granted != 0 || d.OK != want.ok || d.Remaining != want.left {
			t.Errorf("answer %d = %+v, want nothing served, OK %v, %d left", i, l[i], want.ok, want.left)
		}
	}
}

// TestCancelInBucket cancels an event after the bucket has refilled in its place: it must not be
// there twice.
func TestCancelInBucket(t *testing.T) {
	r := mustRule(limiter.Rule{Limit: limiter.Limit{Events: 100, Window: 10 * time.Second, Burst: 10}})
	for _, test := range []struct {
		name            string
		used, cancelled int64 // at the start
		after           limiter.Instant
		later           int64 // used right before the events are cancelled
		left            int64 // after that
		unseen          int64 // the same if the node has not seen what was used at the start
	}{
		{"at once", 10, 4, 0, 0, 4, 4},
		{"while the bucket is empty", 10, 4, 200 * ms, 2, 4, 2},
		{"when it has been full", 4, 4, 500 * ms, 10, 0, 0},
		{"when it has been full for some of the time", 4, 4, 200 * ms, 8, 2, 2},
		{"a fraction before the next event", 4, 4, 299999, 8, 2, 2},
	} {
		for _, seen := range []bool{true, false} {
			g, now := NewLedger(bucket), epoch+test.after
			lendOne(g, 1, epoch, limiter.LeaseRequest{Rule: r, Need: test.used})
			cancel := limiter.LeaseRequest{Rule: r, Incarnation: 1, Cancel: limiter.Events{At: epoch, N: test.cancelled}}
			want := test.unseen
			if seen {
				cancel.Lacked, want = test.used, test.left
			}
			lendOne(g, 1, now, limiter.LeaseRequest{Rule: r, Need: test.later})
			if got := lendOne(g, 1, now, cancel).Decision.Remaining; got != want {
				t.Errorf("%s, seen %v: left = %d, want %d", test.name, seen, got, want)
			}
		}
	}
}

// TestCancelRestoresSeenBucket cancels events of a bucket in any state, when the node was told what
// the bucket lacked right after: if nothing else happens, it is as if they had never been served,
// to the fraction of an event. Others take what has accrued by then.
func TestCancelRestoresSeenBucket(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 10_000 {
		r := mustRule(limiter.Rule{Limit: limiter.Limit{
			Events: oneOf[int64](rng, 1, 3, 7, 1009), Window: 7 * time.Second, Burst: 10,
		}})
		got := &lendingBucket{at: epoch, missing: 1 + rng.Int64N(9)}
		got.advance(r, epoch+randomInstant(rng, window(r)))
		want, at, n := got.clone().(*lendingBucket), got.at, 1+rng.Int64N(r.Capacity()-got.missing)
		got.consume(r, n)
		seen := limiter.Events{At: at, N: got.missing}
		later, others := at+randomInstant(rng, 2*window(r)), rng.Int64N(3)
		for _, b := range []*lendingBucket{got, want} {
			b.advance(r, later)
			b.consume(r, others)
		}
		got.cancel(r, limiter.Events{At: at, N: n}, seen)
		if got.scarceSince = 0; *got != *want {
			t.Fatalf("%d of %+v, seen %+v, cancelled %d µs later = %+v, want %+v", n, r.Limit, seen, later-at, *got, *want)
		}
	}
}
