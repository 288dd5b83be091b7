package limiter

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A teller is what a node remembers of one count between its requests.
type teller struct {
	seen Events
	run  uint64
	back []Events // leases that may be returned
}

// lendTo answers a loan of a node under one ledger. The node tells what it has seen.
func lendTo(g *Ledger, n *teller, run uint64, now Instant, l LeaseRequest) LeaseRequest {
	l.Seen, l.Incarnation = n.seen, n.run
	loans := []LeaseRequest{l}
	Lend(1, run, now, []*Ledger{g}, loans)
	n.seen, n.run = loans[0].Decision.Seen(), run
	return loans[0]
}

// TestRestartsWithoutLossChangeNothing plays random histories of several nodes twice: as they are, and with restarts that lose
// nothing and with servers that do not tell their run. All decisions are the same, as if the node had not returned anything
// across a restart.
func TestRestartsWithoutLossChangeNothing(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			for seed := range uint64(60) {
				playRestarts(t, a.Algorithm, seed)
			}
		})
	}
}

func playRestarts(t *testing.T, a Algorithm, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 10))
	r := mustNew(Rule{Algorithm: a, MaxOvershoot: oneOf(rng, 0.01, 0.1, 1), Limit: Limit{
		Events: oneOf[int64](rng, 1, 10, 100, 1009), Window: oneOf(rng, time.Second, 6*time.Second, time.Minute),
	}})
	plain, restarted, now, run := NewLedger(a), NewLedger(a), begins, uint64(1)
	nodes := make([]teller, 3)
	for call := range 150 {
		now += Instant(rng.Int64N(1 + r.window/oneOf[int64](rng, 2, 20, 200)))
		switch rng.IntN(8) {
		case 0:
			run++
		case 1:
			run *= uint64(rng.IntN(2)) // unknown, until the next restart
		}
		n := &nodes[rng.IntN(len(nodes))]
		l := LeaseRequest{Rule: r, Need: rng.Int64N(1 + r.capacity/oneOf[int64](rng, 1, 3, 30)), Want: rng.Int64N(r.capacity)}
		if len(n.back) > 0 && rng.IntN(2) == 0 {
			l.Returns[0], n.back = n.back[0], n.back[1:]
		}
		want := l
		if run == 0 || n.run != run {
			want.Returns = [2]Events{}
		}
		want = lendTo(plain, &teller{run: 1}, 1, now, want)
		got := lendTo(restarted, n, run, now, l)
		if got.Decision != want.Decision || got.Served != want.Served || got.Granted != want.Granted || got.Expires != want.Expires {
			t.Fatalf("seed %d, call %d, %+v at %d in run %d:\n got %+v, served %d, lent %d until %d\nwant %+v, %d, %d, %d", seed, call,
				r.Limit, now, run, got.Decision, got.Served, got.Granted, got.Expires, want.Decision, want.Served, want.Granted, want.Expires)
		}
		if got.Granted > 0 {
			n.back = append(n.back, Events{got.Decision.At, got.Granted})
		}
	}
}

// TestFailoversRestoreWhatWasSeen has the store go back to an earlier state: the node that has seen what was lost restores it, and
// never less is used afterwards than if nothing had been lost.
func TestFailoversRestoreWhatWasSeen(t *testing.T) {
	for _, a := range every {
		t.Run(a.name, func(t *testing.T) {
			for seed := range uint64(60) {
				playFailovers(t, a.Algorithm, seed)
			}
		})
	}
}

func playFailovers(t *testing.T, a Algorithm, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 11))
	r := mustNew(Rule{Algorithm: a, Limit: Limit{
		Events: oneOf[int64](rng, 10, 100, 1009), Window: oneOf(rng, time.Second, 6*time.Second, time.Minute),
	}})
	kept, lossy, now, run := NewLedger(a), NewLedger(a), begins, uint64(1)
	var n teller
	replica := lossy.Clone()
	for call := range 100 {
		now += Instant(rng.Int64N(1 + r.window/oneOf[int64](rng, 2, 20, 200)))
		switch rng.IntN(6) {
		case 0:
			replica = lossy.Clone()
		case 1:
			run++
			lossy = replica.Clone()
			seen := lossy.Clone()
			if l := lendTo(seen, &teller{seen: n.seen, run: n.run}, run, n.seen.At, LeaseRequest{Rule: r}); n.run > 0 && l.Decision.Seen().N < n.seen.N {
				t.Fatalf("seed %d, call %d: used after a failover = %d, want the %d that were seen", seed, call, l.Decision.Seen().N, n.seen.N)
			}
		}
		l := lendTo(lossy, &n, run, now, LeaseRequest{Rule: r, Need: rng.Int64N(1 + r.capacity/oneOf[int64](rng, 1, 3, 30))})
		if l.Served > 0 {
			Lend(1, 1, now, []*Ledger{kept}, []LeaseRequest{{Rule: r, CreditTotal: kept.paid[1] + l.Served, SettledTotal: kept.paid[1]}})
		}
		for _, after := range []int64{0, r.window / 3, r.window} {
			got, want := usedAt(lossy, r, now+Instant(after)), usedAt(kept, r, now+Instant(after))
			if a.Kind == SlidingWindow {
				want-- // both weigh the oldest sub-window and round up
			}
			if got < want {
				t.Fatalf("seed %d, call %d: used %d µs after a call = %d, want at least %d as without failovers", seed, call, after, got, want)
			}
		}
	}
}

// TestRestartDoesNotProlongALog pins the wait for a full log after a restart that lost nothing.
func TestRestartDoesNotProlongALog(t *testing.T) {
	r := mustNew(Rule{Algorithm: Algorithm{Kind: SlidingWindowLog}, Limit: Limit{Events: 10, Window: 6 * time.Second}})
	g, n := NewLedger(r.Algorithm), new(teller)
	lendTo(g, n, 1, begins, LeaseRequest{Rule: r, Need: 10})
	lendTo(g, n, 1, begins+3*sec, LeaseRequest{Rule: r, Need: 1}) // denied, and seen
	for _, test := range []struct {
		after  Instant
		served int64
	}{{5_990_000, 0}, {6_010_000, 1}} {
		if l := lendTo(g.Clone(), &teller{seen: n.seen, run: 1}, 2, begins+test.after, LeaseRequest{Rule: r, Need: 1}); l.Served != test.served {
			t.Errorf("served %d µs after the log was full = %d, want %d", test.after, l.Served, test.served)
		}
	}
}

// TestUnknownRunsKeepTheRate asks a store that never tells its run for one event after the other.
func TestUnknownRunsKeepTheRate(t *testing.T) {
	for _, a := range every {
		r := mustNew(Rule{Algorithm: a.Algorithm, Limit: Limit{Events: 7, Window: 10 * time.Second}})
		g, nodes, served := NewLedger(a.Algorithm), make([]teller, 4), int64(0)
		for i := range 6000 {
			served += lendTo(g, &nodes[i%len(nodes)], 0, begins+Instant(i)*100_000, LeaseRequest{Rule: r, Need: 1}).Served
		}
		if served < 360 || served > 427 { // counters weigh what has partly left the window
			t.Errorf("%s: served in 600 s at 7 per 10 s = %d, want 360 to 427", a.name, served)
		}
	}
}
