package limiter

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// waitingRule returns the rule of a token bucket whose takes may wait.
func waitingRule(t testing.TB, l Limit, maxWait time.Duration) *Rule {
	t.Helper()
	r, err := NewRule(Rule{Algorithm: Algorithm{Kind: TokenBucket}, Limit: l, MaxWait: maxWait})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTakeWaiting has 2000 takes arrive at once. The first is admitted, and the next 50 get turns
// 10 ms apart. The others consume nothing: when the last turn has come, the bucket is empty, and
// its level is not negative.
func TestTakeWaiting(t *testing.T) {
	const ms, begin = 1000, Instant(1_700_000_000_000_000)
	r := waitingRule(t, Limit{Events: 100, Window: time.Second, Burst: 1}, 500*time.Millisecond)
	s := make(State, r.Algorithm.StateSize())
	for i := range Instant(2000) {
		d := s.TakeWaiting(r, begin, 1, 500*ms)
		switch turn := begin + i*10*ms; {
		case i == 0 && (!d.OK || d.Turn != 0):
			t.Errorf("take 0: OK %t, turn %d, want it at once", d.OK, d.Turn)
		case i > 0 && i <= 50 && (!d.OK || d.Turn != turn):
			t.Errorf("take %d: OK %t, turn after %d, want one after %d", i, d.OK, d.Turn-begin, turn-begin)
		case i > 50 && (d.OK || d.RetryAt != begin+10*ms):
			t.Fatalf("take %d: OK %t, retry after %d, want a denial until 10 ms later", i, d.OK, d.RetryAt-begin)
		}
	}
	for _, test := range []struct {
		after Instant
		want  int64
	}{{0, 51}, {495 * ms, 2}, {500 * ms, 1}, {510 * ms, 0}} {
		if got := s.Inspect(r, begin+test.after).Consumed; got != test.want {
			t.Errorf("consumed after %d µs = %d, want %d", test.after, got, test.want)
		}
	}
	if d := s.Peek(r, begin+500*ms, 1); d.OK || d.RetryAt != begin+510*ms {
		t.Errorf("a take after the last turn: OK %t, retry after %d, want it at 510 ms", d.OK, d.RetryAt-begin)
	}
}

// TestGiveBackPromise gives back promises. Only the newest goes back, and the others are lost.
func TestGiveBackPromise(t *testing.T) {
	const ms, begin = 1000, Instant(1_700_000_000_000_000)
	r := waitingRule(t, Limit{Events: 100, Window: time.Second, Burst: 2}, time.Second)
	s := make(State, r.Algorithm.StateSize())
	take := func() Decision { return s.TakeWaiting(r, begin, 1, 1000*ms) }
	atOnce, _ := take(), take()
	first, second, third := take(), take(), take()
	for _, test := range []struct {
		name  string
		after Instant
		turn  Instant
		want  bool
	}{
		{"others come after it", 3 * ms, first.Turn, false},
		{"the newest", 3 * ms, third.Turn, true},
		{"the newest when its turn has come", 20 * ms, second.Turn, false},
	} {
		if got := s.GiveBack(r, begin+test.after, test.turn, 1); got != test.want {
			t.Errorf("%s: given back = %t, want %t", test.name, got, test.want)
		}
	}
	s = make(State, r.Algorithm.StateSize())
	take()
	take()
	take()
	before := slices.Clone(s)
	if s.Refund(r, begin, atOnce.Seen(), 1); !slices.Equal(s, before) {
		t.Errorf("a refund while an event is promised leaves %v, want %v", s, before)
	}
}

// TestWaitingKeepsTheBound plays random takes that wait. Some of them give back their turn. In any
// span, no more events begin than the burst and what accrues in the span. Turns are in the order of
// the takes. A denied take would have been denied until its retry instant.
func TestWaitingKeepsTheBound(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		limit := Limit{Events: 1 + rng.Int64N(50), Window: time.Second, Burst: 1 + rng.Int64N(20)}
		maxWait := time.Duration(rng.Int64N(3_000)) * time.Millisecond
		r := waitingRule(t, limit, maxWait)
		s := make(State, r.Algorithm.StateSize())
		now, last := Instant(1_700_000_000_000_000), Instant(0)
		type begun struct {
			at Instant
			n  int64
		}
		var lost []begun // events of takes that have left, but which the bucket lacks nevertheless
		var all []begun
		var waiting []begun
		for range 300 {
			now += Instant(rng.Int64N(2 * 1_000_000 / limit.Events))
			cost, wait := 1+rng.Int64N(limit.Burst), rng.Int64N(2*maxWait.Microseconds()+1)
			if len(waiting) > 0 && rng.IntN(4) == 0 {
				i := rng.IntN(len(waiting))
				left := waiting[i]
				newest := left.at > now
				for _, other := range slices.Concat(waiting, lost) {
					newest = newest && other.at <= left.at
				}
				if back := s.GiveBack(r, now, left.at, left.n); back != newest {
					t.Fatalf("seed %d: promise %d of %d given back = %t, want %t", seed, i, len(waiting), back, newest)
				}
				waiting = slices.Delete(waiting, i, i+1)
				all = slices.DeleteFunc(all, func(b begun) bool { return b == left })
				if last = 0; !newest {
					lost = append(lost, left)
				}
				for _, other := range slices.Concat(waiting, lost) {
					last = max(last, other.at)
				}
				continue
			}
			d := s.TakeWaiting(r, now, cost, wait)
			if !d.OK {
				if d.RetryAt != Never {
					if again := s.PeekWaiting(r, d.RetryAt, cost, wait); !again.OK {
						t.Fatalf("seed %d: denied again at the retry instant", seed)
					}
					if early := s.PeekWaiting(r, d.RetryAt-1, cost, wait); early.OK {
						t.Fatalf("seed %d: allowed before the retry instant", seed)
					}
				}
				continue
			}
			at := max(d.Turn, now)
			if at < last || d.Turn > now+Instant(min(wait, maxWait.Microseconds())) {
				t.Fatalf("seed %d: turn after %d, the last one after %d, wait %d", seed, at-now, last-now, wait)
			}
			last = at
			all = append(all, begun{at, cost})
			waiting = slices.DeleteFunc(waiting, func(b begun) bool { return b.at <= now })
			if d.Turn != 0 {
				waiting = append(waiting, begun{at, cost})
			}
		}
		for i := range all {
			sum := int64(0)
			for _, b := range all[i:] {
				sum += b.n
				if most := limit.Burst + mulDivUp(int64(b.at-all[i].at), r.refill, r.per); sum > most {
					t.Fatalf("seed %d: %d events in %d µs, want at most %d", seed, sum, b.at-all[i].at, most)
				}
			}
		}
	}
}
