package leasetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A memory is what a node remembers of one ledger between its requests.
type memory struct {
	seen        limiter.Events
	incarnation uint64
	leases      []limiter.Return // that may be returned
}

// lendTo answers a request of a node that says what it remembers.
func lendTo(g *Ledger, n *memory, incarnation uint64, now limiter.Instant, l limiter.LeaseRequest) limiter.LeaseRequest {
	l.Seen, l.Incarnation = n.seen, n.incarnation
	l = lendOne(g, incarnation, now, l)
	n.seen, n.incarnation = l.Decision.Seen(), incarnation
	return l
}

// TestRestartsWithoutLossChangeNothing plays random histories of several nodes twice: as they are,
// and with restarts that lose nothing and servers that do not tell their incarnation. All decisions
// are the same as if the nodes had returned nothing across a restart.
func TestRestartsWithoutLossChangeNothing(t *testing.T) {
	for _, a := range algorithms {
		t.Run(a.name, func(t *testing.T) {
			for seed := range uint64(60) {
				playRestarts(t, a.Algorithm, seed)
			}
		})
	}
}

func playRestarts(t *testing.T, a limiter.Algorithm, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 10))
	r := mustRule(limiter.Rule{Algorithm: a, Limit: limiter.Limit{
		Events: oneOf[int64](rng, 1, 10, 100, 1009), Window: oneOf(rng, time.Second, 6*time.Second, time.Minute),
	}})
	plain, restarted, now, incarnation := NewLedger(a), NewLedger(a), epoch, uint64(1)
	nodes := make([]memory, 3)
	for call := range 150 {
		now += randomInstant(rng, 1+window(r)/oneOf[limiter.Instant](rng, 2, 20, 200))
		switch rng.IntN(8) {
		case 0:
			incarnation++
		case 1:
			incarnation *= uint64(rng.IntN(2)) // unknown until the next restart
		}
		n := &nodes[rng.IntN(len(nodes))]
		l := randomNeed(rng, r)
		l.Want = rng.Int64N(r.Capacity())
		if len(n.leases) > 0 && rng.IntN(2) == 0 {
			l.Returns[0], n.leases = n.leases[0], n.leases[1:]
		}
		if incarnation == 0 && a.Kind == limiter.TokenBucket {
			l.Want = 0 // it grants no parts
		}
		want := l
		if incarnation == 0 || n.incarnation != incarnation {
			want.Returns = [2]limiter.Return{}
		}
		want = lendTo(plain, &memory{incarnation: 1}, 1, now, want)
		got := lendTo(restarted, n, incarnation, now, l)
		if got.Decision != want.Decision || got.Served != want.Served || got.Granted != want.Granted || got.Expires != want.Expires {
			t.Fatalf("seed %d, call %d, %+v at %d in incarnation %d:\n got %+v, served %d, granted %d until %d\nwant %+v, %d, %d, %d",
				seed, call, r.Limit, now, incarnation, got.Decision, got.Served, got.Granted, got.Expires,
				want.Decision, want.Served, want.Granted, want.Expires)
		}
		if got.Granted > 0 {
			n.leases = append(n.leases, limiter.Return{
				Events: limiter.Events{At: got.Decision.At, N: got.Granted}, Share: got.GrantedShare,
			})
		}
	}
}

func randomInstant(rng *rand.Rand, below limiter.Instant) limiter.Instant {
	return limiter.Instant(rng.Int64N(int64(below)))
}

// randomNeed returns a request of up to the whole limit, and often of little.
func randomNeed(rng *rand.Rand, r *limiter.Rule) limiter.LeaseRequest {
	return limiter.LeaseRequest{Rule: r, Need: rng.Int64N(1 + r.Capacity()/oneOf[int64](rng, 1, 3, 30))}
}

// TestFailoversRestoreWhatWasSeen sends the store back to an earlier state: the node that has seen
// what was lost restores it, and never less is used afterwards than if nothing had been lost.
func TestFailoversRestoreWhatWasSeen(t *testing.T) {
	for _, a := range algorithms {
		t.Run(a.name, func(t *testing.T) {
			for seed := range uint64(60) {
				playFailovers(t, a.Algorithm, seed)
			}
		})
	}
}

func playFailovers(t *testing.T, a limiter.Algorithm, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 11))
	r := mustRule(limiter.Rule{Algorithm: a, Limit: limiter.Limit{
		Events: oneOf[int64](rng, 10, 100, 1009), Window: oneOf(rng, time.Second, 6*time.Second, time.Minute),
	}})
	kept, lossy, now, incarnation := NewLedger(a), NewLedger(a), epoch, uint64(1)
	var n memory
	replica := lossy.Clone()
	for call := range 100 {
		now += randomInstant(rng, 1+window(r)/oneOf[limiter.Instant](rng, 2, 20, 200))
		switch rng.IntN(6) {
		case 0:
			replica = lossy.Clone()
		case 1:
			incarnation++
			lossy = replica.Clone()
			again := memory{seen: n.seen, incarnation: n.incarnation}
			l := lendTo(lossy.Clone(), &again, incarnation, n.seen.At, limiter.LeaseRequest{Rule: r})
			if used := l.Decision.Seen().N; n.incarnation > 0 && used < n.seen.N {
				t.Fatalf("seed %d, call %d: used after a failover = %d, want the %d that were seen", seed, call, used, n.seen.N)
			}
		}
		l := lendTo(lossy, &n, incarnation, now, randomNeed(rng, r))
		if l.Served > 0 {
			kept.count.advance(r, now)
			kept.count.consume(r, l.Served)
		}
		for _, after := range []limiter.Instant{0, window(r) / 3, window(r)} {
			got, want := usedAt(lossy, r, now+after), usedAt(kept, r, now+after)
			if a.Kind == limiter.SlidingWindow {
				want-- // both weigh the oldest sub-window and round up
			}
			if got < want {
				t.Fatalf("seed %d, call %d: used %d µs after a call = %d, want at least %d as without failovers",
					seed, call, after, got, want)
			}
		}
	}
}

// TestRestartDoesNotProlongLog pins the wait for a full log after a restart that lost nothing.
func TestRestartDoesNotProlongLog(t *testing.T) {
	r := mustRule(limiter.Rule{Algorithm: log, Limit: limiter.Limit{Events: 10, Window: 6 * time.Second}})
	g, n := NewLedger(r.Algorithm), new(memory)
	lendTo(g, n, 1, epoch, limiter.LeaseRequest{Rule: r, Need: 10})
	lendTo(g, n, 1, epoch+3*sec, limiter.LeaseRequest{Rule: r, Need: 1}) // denied, and seen
	for _, test := range []struct {
		after  limiter.Instant
		served int64
	}{{5_990_000, 0}, {6_010_000, 1}} {
		again := memory{seen: n.seen, incarnation: 1}
		l := lendTo(g.Clone(), &again, 2, epoch+test.after, limiter.LeaseRequest{Rule: r, Need: 1})
		if l.Served != test.served {
			t.Errorf("served %d µs after the log was full = %d, want %d", test.after, l.Served, test.served)
		}
	}
}

// TestUnknownIncarnationKeepsRate asks a store that never tells its incarnation for one event after
// the other.
func TestUnknownIncarnationKeepsRate(t *testing.T) {
	for _, a := range algorithms {
		r := mustRule(limiter.Rule{Algorithm: a.Algorithm, Limit: limiter.Limit{Events: 7, Window: 10 * time.Second}})
		g, nodes, served := NewLedger(a.Algorithm), make([]memory, 4), int64(0)
		for i := range 6000 {
			now := epoch + limiter.Instant(i)*100*ms
			served += lendTo(g, &nodes[i%len(nodes)], 0, now, limiter.LeaseRequest{Rule: r, Need: 1}).Served
		}
		if served < 360 || served > 427 { // counters weigh what has partly left the window
			t.Errorf("%s: served in 600 s at 7 per 10 s = %d, want 360 to 427", a.name, served)
		}
	}
}
