package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestForeignValues puts values into Redis that no script has written. They count as absent, are
// counted and replaced, and cause no error.
func TestForeignValues(t *testing.T) {
	redis := redistest.Shared(t).Client()
	client, ctx := connect(t, standalone(t)), t.Context()
	const all = "\xff"
	for _, a := range algorithms {
		for _, value := range []string{
			"", "x", strings.Repeat(all, 10), strings.Repeat(all, 18), strings.Repeat(all, 19), strings.Repeat(all, 20),
			strings.Repeat(all, 22), strings.Repeat(all, 28), strings.Repeat(all, 30), strings.Repeat(all, 40), strings.Repeat(all, 200),
		} {
			s, r := New(client, "rl"), mustRule(t, 7, a, limiter.Limit{Events: 5, Window: time.Hour})
			hash := hashName(s.prefix, []byte("key"))
			redis.Del(ctx, hash, logName(hash, 7))
			redis.HSet(ctx, hash, field(7), value, field(7)+"!", "x", field(8), "y", "@", "z")
			if d := take(t, s, r, "key", 5); !d.OK || d.Remaining != 0 {
				t.Errorf("%v, %q: take of 5 = %+v, want OK with 0 remaining", a, value, d)
			}
			if n := s.Foreign(); n < 1 {
				t.Errorf("%v, %q: foreign values = %d, want some", a, value, n)
			}
			for range 2 { // the first take replaces the mark of the breach
				if d := take(t, s, r, "key", 1); d.OK || d.RetryAt > d.At+2*3_600_000_000 {
					t.Errorf("%v, %q: take of 1 more = %+v, want a denial for two hours at most", a, value, d)
				}
			}
			n := s.Foreign()
			if lend(t, s, 0, limiter.LeaseRequest{Rule: r, Need: 1}); s.Foreign() != n {
				t.Errorf("%v, %q: foreign values = %d, and then %d, want no more", a, value, n, s.Foreign())
			}
		}
	}
}

// TestForeignLogs puts foreign members into the sorted set of a log. The log counts as absent, and
// the take replaces it.
func TestForeignLogs(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s, ctx := New(connect(t, standalone(t)), "rl"), t.Context()
	r := mustRule(t, 7, limiter.Algorithm{Kind: limiter.SlidingWindowLog}, limiter.Limit{Events: 5, Window: time.Hour})
	now := redis.Time(ctx).Val().UnixMicro()
	for _, test := range []struct {
		member string
		score  int64
	}{{"x", now}, {"1234567", now}, {"1234567", now + 1<<50}, {"\x00\x20\x00\x00\x00\x00\x00", now}} {
		log := logName(hashName(s.prefix, []byte("key")), 7)
		redis.Del(ctx, log)
		if err := redis.Do(ctx, "zadd", log, test.score, test.member).Err(); err != nil {
			t.Fatal(err)
		}
		before := s.Foreign()
		if d := take(t, s, r, "key", 5); !d.OK || s.Foreign() != before+1 {
			t.Errorf("%q at %d: take = %+v, %d foreign values, want OK and one", test.member, test.score, d, s.Foreign()-before)
		}
	}
}

// TestReturnToDeletedKey deletes a key while a lease of it is open. The return does not change the
// new count.
func TestReturnToDeletedKey(t *testing.T) {
	redis := redistest.Shared(t).Client()
	client := connect(t, standalone(t))
	for _, a := range algorithms {
		s, r, now := withClock(client), leasable(t, a), limiter.Instant(1_800_000_000_000_000)
		l := lend(t, s, now, limiter.LeaseRequest{Rule: r, Need: 1, Want: 80})
		hash := hashName(s.prefix, []byte("key"))
		redis.Del(t.Context(), hash, logName(hash, r.ID))
		other := lend(t, s, now+1000, limiter.LeaseRequest{Rule: r, Need: 100, Want: 400})
		back := limiter.LeaseRequest{Rule: r, Incarnation: l.Incarnation, Returns: [2]limiter.Return{{Events: limiter.Events{At: l.Decision.At, N: l.Granted}}}}
		if a.Kind != limiter.SlidingWindowLog {
			back.Cancel = limiter.Events{At: l.Decision.At, N: 1}
		}
		got := lend(t, s, now+2000, back)
		if accrued := got.Decision.Remaining - other.Decision.Remaining; accrued != 0 {
			t.Errorf("%v: %d more are left after a return to the deleted count, want none", a, accrued)
		}
	}
}
