package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestDenialKeepsCountAlive uses up a limit of 100 per second and is then denied under a limit of
// 100 per hour. The count lives until the reset of the denial.
func TestDenialKeepsCountAlive(t *testing.T) {
	redis := redistest.Shared(t).Client()
	client := connect(t, standalone(t))
	for _, a := range algorithms {
		for _, mode := range []string{"take", "lend"} {
			s := New(client, fmt.Sprint("rl", mode, a))
			before := mustRule(t, 1, a, limiter.Limit{Events: 100, Window: time.Second})
			after := mustRule(t, 1, a, limiter.Limit{Events: 100, Window: time.Hour})
			begin := time.Now()
			if d := take(t, s, before, "key", 100); !d.OK {
				t.Fatalf("%v: take of the whole limit = %+v, want OK", a, d)
			}
			var d limiter.Decision
			if mode == "take" {
				d = take(t, s, after, "key", 100)
			} else {
				d = lend(t, s, 0, limiter.LeaseRequest{Rule: after, Need: 100}).Decision
			}
			if d.OK {
				if time.Since(begin) < time.Second {
					t.Errorf("%v, %s: a take under the new limit = %+v, want a denial", a, mode, d)
				}
				continue // the window has ended meanwhile
			}
			for _, name := range redis.Keys(t.Context(), s.prefix+":*").Val() {
				left := d.ResetAt.Time().Sub(d.At.Time()) - time.Since(begin)
				if ttl := redis.PTTL(t.Context(), name).Val(); ttl < left {
					t.Errorf("%v, %s: time to live of %q after the denial = %v, want at least %v", a, mode, name, ttl, left)
				}
			}
			value := redis.HGet(t.Context(), hashName(s.prefix, []byte("key")), field(1)).Val()
			if value == "" && a.Kind == limiter.SlidingWindowLog {
				continue // the count is in the sorted set
			}
			if expiry := limiter.Instant(number(value[:3]) * 256_000_000); expiry < d.ResetAt {
				t.Errorf("%v, %s: the value expires at %d, want not before the reset at %d", a, mode, expiry, d.ResetAt)
			}
		}
	}
}
