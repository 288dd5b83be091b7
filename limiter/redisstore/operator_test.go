package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// reset resets the count of "key".
func reset(t *testing.T, s *Store, now limiter.Instant, r *limiter.Rule) {
	t.Helper()
	if err := s.Reset(t.Context(), now, r, []byte("key")); err != nil {
		t.Fatal(err)
	}
}

// TestNothingComesBackAfterReset resets a count while a lease is out. After that, nodes that have
// not heard of the reset send a return, a cancel and, after a failover, the state that they have
// seen. None of these changes the new count. A lease from after the reset is returned as usual.
func TestNothingComesBackAfterReset(t *testing.T) {
	client := connect(t, standalone(t))
	for _, a := range algorithms {
		s, r, now := withClock(client), leasable(t, a), limiter.Instant(1_800_000_000_000_000)
		before := lend(t, s, now, limiter.LeaseRequest{Rule: r, Need: 100, Want: 80})
		seen := before.Decision.Seen()
		reset(t, s, now+1000, r)
		after := lend(t, s, now+2000, limiter.LeaseRequest{Rule: r, Need: 200, Want: 40, Incarnation: before.Incarnation})
		held := int64(0) // events in parts of a bucket, which nodes go on spending
		if a.Kind == limiter.TokenBucket {
			held = before.Granted
		}
		if got, want := after.Decision.Remaining, r.Capacity()-200-held-after.Granted; got != want || after.Granted == 0 {
			t.Errorf("%v: remaining after the reset = %d, want %d", a, got, want)
		}
		left := after.Decision.Remaining
		check := func(what string, l limiter.LeaseRequest, want int64) {
			t.Helper()
			l.Rule = r
			if got := lend(t, s, now+3000, l).Decision.Remaining; got != want {
				t.Errorf("%v: remaining after %s = %d, want %d", a, what, got, want)
			}
		}
		leased := func(l limiter.LeaseRequest) [2]limiter.Return {
			return [2]limiter.Return{{Events: limiter.Events{At: l.Decision.At, N: l.Granted}}}
		}
		check("a return of before", limiter.LeaseRequest{Incarnation: before.Incarnation, Returns: leased(before)}, left)
		check("a cancel of before", limiter.LeaseRequest{
			Incarnation: before.Incarnation, Cancel: limiter.Events{At: seen.At, N: 50}, Lacked: seen.N,
		}, left)
		check("a failover", limiter.LeaseRequest{Incarnation: before.Incarnation + 1, Seen: limiter.Events{At: seen.At, N: 500}}, left)
		check("a return", limiter.LeaseRequest{Incarnation: before.Incarnation, Returns: leased(after)}, left+after.Granted)
	}
}

// TestNothingIsRestoredToEmptyCount has a node send the state that it has seen before a reset.
// Nothing was taken since the reset. In one case Redis had lost the count before the reset.
func TestNothingIsRestoredToEmptyCount(t *testing.T) {
	client, redis := connect(t, standalone(t)), redistest.Shared(t).Client()
	for _, a := range algorithms {
		for _, lost := range []bool{false, true} {
			s, r, now := withClock(client), leasable(t, a), limiter.Instant(1_800_000_000_000_000)
			before := lend(t, s, now, limiter.LeaseRequest{Rule: r, Need: 100})
			if hash := hashName(s.prefix, []byte("key")); lost {
				redis.Del(t.Context(), hash, logName(hash, r.ID))
			}
			reset(t, s, now+1000, r)
			for _, later := range []limiter.Instant{2000, 1_000_000, 50_000_000} {
				got := lend(t, s, now+later, limiter.LeaseRequest{Rule: r, Seen: before.Decision.Seen(), Incarnation: before.Incarnation + 1})
				if got.Decision.Remaining != r.Capacity() {
					t.Errorf("%v, count lost %v, %d µs later: remaining = %d, want all", a, lost, later, got.Decision.Remaining)
				}
			}
		}
	}
}

// TestAddQuotaKeepsLeases gives back all that was consumed while a lease is out. If the algorithm
// tells leased events from others, the leased events stay consumed until they are returned.
func TestAddQuotaKeepsLeases(t *testing.T) {
	client := connect(t, standalone(t))
	for _, a := range algorithms {
		s, r, now := withClock(client), leasable(t, a), limiter.Instant(1_800_000_000_000_000)
		l := lend(t, s, now, limiter.LeaseRequest{Rule: r, Need: 100, Want: 60})
		got, err := s.AddQuota(t.Context(), now, r, []byte("key"), 1000)
		want := int64(0)
		if r.LeaseSlot() > 0 {
			want = l.Granted
		}
		if err != nil || got.Consumed != want || got.Leased != want || got.LeasedUntil != l.Expires || l.Granted == 0 {
			t.Errorf("%v: state after all was given back = %+v, %v, want the lease of %d alone", a, got, err, l.Granted)
		}
		back := limiter.LeaseRequest{Rule: r, Incarnation: l.Incarnation, Returns: [2]limiter.Return{{Events: limiter.Events{At: l.Decision.At, N: l.Granted}}}}
		if got := lend(t, s, now, back).Decision.Remaining; got != r.Capacity() {
			t.Errorf("%v: remaining after the return = %d, want all", a, got)
		}
	}
}

// TestInspectChangesNothing compares what Redis has before inspections and after them.
func TestInspectChangesNothing(t *testing.T) {
	redis := redistest.Shared(t).Client()
	for _, a := range algorithms {
		s, r := New(connect(t, standalone(t)), "rl"), leasable(t, a)
		lend(t, s, 0, limiter.LeaseRequest{Rule: r, Need: 100, Want: 80})
		hash := hashName(s.prefix, []byte("key"))
		state := func() (all []string) {
			for _, name := range []string{hash, logName(hash, r.ID)} {
				expires := redis.PExpireTime(t.Context(), name).Val().String()
				all = append(all, redis.Dump(t.Context(), name).Val(), expires)
			}
			return all
		}
		before := state()
		for range 5 {
			i, err := s.Inspect(t.Context(), 0, r, []byte("key"))
			c := i.Count
			slots := a.Kind == limiter.TokenBucket || a.Kind == limiter.SlidingWindowLog
			if err != nil || c.Consumed <= 100 || c.LeasedUntil <= c.At || (c.Leased > 0) != slots || i.Account != nil {
				t.Errorf("%v: inspection = %+v, %v, want a lease", a, i, err)
			}
		}
		if after := state(); strings.Join(after, "\n") != strings.Join(before, "\n") {
			t.Errorf("%v: state after inspections = %q, want %q as before", a, after, before)
		}
		if i, err := s.Inspect(t.Context(), 0, r, []byte("unknown")); err != nil || i.Count.Remaining != r.Capacity() {
			t.Errorf("%v: inspection of an unknown key = %+v, %v, want all remaining", a, i, err)
		}
		if n := redis.Exists(t.Context(), hashName(s.prefix, []byte("unknown"))).Val(); n != 0 {
			t.Errorf("%v: an inspection has created a key", a)
		}
	}
}

// TestOperatorsWriteWhatExpires adds quota to a key that Redis has, and to one that it has not, and
// resets them. All that is written expires.
func TestOperatorsWriteWhatExpires(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s := New(connect(t, standalone(t)), "expires")
	for _, a := range algorithms {
		r := mustRule(t, 1, a, limiter.Limit{Events: 10, Window: time.Hour})
		for _, taken := range []int64{0, 10} {
			if redis.Del(t.Context(), redis.Keys(t.Context(), "expires:*").Val()...); taken > 0 {
				take(t, s, r, "key", taken)
			}
			if _, err := s.AddQuota(t.Context(), 0, r, []byte("key"), 4); err != nil {
				t.Fatal(err)
			}
			if names := redis.Keys(t.Context(), "expires:*").Val(); (len(names) == 0) != (taken == 0) {
				t.Errorf("%v: keys after quota was added to %d = %q", a, taken, names)
			}
			reset(t, s, 0, r)
			names := redis.Keys(t.Context(), "expires:*").Val()
			if len(names) != 1 {
				t.Errorf("%v: keys after a reset = %q, want the hash", a, names)
			}
			for _, name := range names {
				if ttl := redis.PTTL(t.Context(), name).Val(); ttl < time.Hour-time.Minute || ttl > 4*time.Hour {
					t.Errorf("%v: time to live of %q = %v, want an hour or a few", a, name, ttl)
				}
			}
		}
	}
}

// TestOperatorErrors has Redis hold a key of another type.
func TestOperatorErrors(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s := New(connect(t, standalone(t)), "rl")
	if err := redis.Set(t.Context(), "rl:{key}", "not a hash", 0).Err(); err != nil {
		t.Fatal(err)
	}
	r, key := mustRule(t, 1, limiter.Algorithm{}, limiter.Limit{Events: 3, Window: time.Hour}), []byte("key")
	for name, call := range map[string]func() error{
		"inspect": func() error {
			_, err := s.Inspect(t.Context(), 0, r, key)
			return err
		},
		"reset": func() error { return s.Reset(t.Context(), 0, r, key) },
		"add quota": func() error {
			_, err := s.AddQuota(t.Context(), 0, r, key, 1)
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%s = %v, want Redis's WRONGTYPE", name, err)
		}
	}
}
