package leasestore

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// TestStatsPlus adds every number.
func TestStatsPlus(t *testing.T) {
	one := Stats{Requests: 1, Granted: 2, Returned: 3, Expired: 4, Lost: 5, Credited: 6, Settled: 7, Debt: 8, Accounts: 9}
	want := Stats{Requests: 3, Granted: 6, Returned: 9, Expired: 12, Lost: 15, Credited: 18, Settled: 21, Debt: 24, Accounts: 27}
	if got := one.Plus(one).Plus(one); got != want {
		t.Errorf("three times %+v = %+v, want %+v", one, got, want)
	}
}

// TestExpired counts what was not spent before its window had passed: nobody is told of that.
func TestExpired(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, n node) {
		r := rule(t, limiter.Rule{
			Algorithm: limiter.Algorithm{Kind: limiter.FixedWindow}, Limit: limiter.Limit{Events: 10_000, Window: time.Second},
		})
		time.Sleep(700 * time.Millisecond)
		n.warm(r, "key") // to the end of the window, but for 80 ms
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := n.Stats(); s.Expired == 0 || s.Expired+s.Returned > s.Granted {
			t.Errorf("stats = %+v, want some expired, and no more than were granted", s)
		}
		if leased := n.leased(r, "key"); leased != 0 {
			t.Errorf("leased after the window = %d, want none", leased)
		}
	})
}

// TestJitter spreads the asks of all nodes about one event each, but for no longer than a twentieth of the window.
func TestJitter(t *testing.T) {
	const ms = 1000
	bucket := rule(t, limiter.Rule{Limit: limiter.Limit{Events: 6000, Window: time.Minute}})
	window := fixed(t, "zone", 1, 10)
	for _, line := range []struct {
		name  string
		rule  *limiter.Rule
		nodes int
		need  int64
		ok    bool
		retry limiter.Instant
		most  int64
	}{
		{"one node", bucket, 1, 1, false, 10 * ms, 0},
		{"five nodes", bucket, 5, 1, false, 10 * ms, 50 * ms},
		{"a thousand nodes", bucket, 1000, 1, false, 10 * ms, 3000 * ms},
		{"late retry", bucket, 5, 1, false, 3001 * ms, 0},
		{"no retry", bucket, 5, 1, false, limiter.Never, 0},
		{"window", window, 5, 1, false, 10 * ms, 0},
		{"nobody denied", bucket, 5, 0, false, 10 * ms, 0},
		{"allowed", bucket, 5, 1, true, 0, 0},
	} {
		s := &Store{options: Options{Nodes: func() int { return line.nodes }}}
		const at = 1_767_225_600_000_000
		loan := limiter.Loan{Rule: line.rule, Need: line.need, Decision: limiter.Decision{OK: line.ok, At: at, RetryAt: at + line.retry}}
		if line.retry == limiter.Never {
			loan.Decision.RetryAt = limiter.Never
		}
		highest := int64(0)
		for range 1000 {
			got := s.jitter(&loan)
			if got < 0 || got > line.most {
				t.Fatalf("%s: jitter = %d µs, want 0 to %d", line.name, got, line.most)
			}
			highest = max(highest, got)
		}
		if highest < line.most/2 {
			t.Errorf("%s: the highest jitter of 1000 = %d µs, want up to %d", line.name, highest, line.most)
		}
	}
}
