package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/limiter/storetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestStore(t *testing.T) {
	for _, topology := range topologies {
		t.Run(topology.name, func(t *testing.T) {
			client := connect(t, topology.options(t))
			storetest.Run(t, func(*testing.T, ...string) (storetest.Store, map[string]limiter.Counts) {
				return withClock(client), nil
			})
		})
	}
}

// TestRedisClockDecides takes with readings of a clock that is far off.
func TestRedisClockDecides(t *testing.T) {
	s := New(connect(t, standalone(t)), "rl")
	r := mustRule(t, 1, limiter.Algorithm{Kind: limiter.FixedWindow}, limiter.Limit{Events: 3, Window: 24 * time.Hour})
	takes := []limiter.Take{{Rule: r, Key: []byte("key"), Cost: 1}}
	before := redistest.Shared(t).Client().Time(t.Context()).Val()
	for i, skew := range []time.Duration{0, -48 * time.Hour, 48 * time.Hour, 5 * time.Second} {
		if err := s.Take(t.Context(), limiter.At(before.Add(skew)), takes); err != nil {
			t.Fatal(err)
		}
		d := takes[0].Decision
		if at := d.At.Time(); d.OK != (i < 3) || at.Before(before) || at.After(before.Add(time.Minute)) {
			t.Errorf("take %d, clock off by %v = %+v, at %v; want OK %v at about %v", i+1, skew, d, at, i < 3, before)
		}
	}
}

// TestFlush checks that counts that Redis has lost start again, and that lost scripts are loaded
// again.
func TestFlush(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s := New(connect(t, standalone(t)), "rl")
	r := mustRule(t, 1, limiter.Algorithm{}, limiter.Limit{Events: 3, Window: time.Hour})
	for range 2 {
		if d := take(t, s, r, "key", 2); !d.OK || d.Remaining != 1 {
			t.Errorf("take = %+v, want OK with 1 remaining", d)
		}
		if err := redis.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := redis.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWrongTypeIsError has Redis hold a key of another type.
func TestWrongTypeIsError(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s := New(connect(t, standalone(t)), "rl")
	takes := []limiter.Take{
		{Rule: mustRule(t, 1, limiter.Algorithm{}, limiter.Limit{Events: 3, Window: time.Hour}), Key: []byte("key"), Cost: 1},
		{Rule: mustRule(t, 2, limiter.Algorithm{}, limiter.Limit{Events: 3, Window: time.Hour}), Key: []byte("other"), Cost: 1},
	}
	if err := redis.Set(t.Context(), "rl:{key}", "not a hash", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range takes {
		takes[i].Decision.OK = true // so that there is something to refund
	}
	for name, call := range map[string]func() error{
		"take":   func() error { return s.Take(t.Context(), 0, takes) },
		"peek":   func() error { return s.Peek(t.Context(), 0, takes) },
		"refund": func() error { return s.Refund(t.Context(), 0, takes) },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%s = %v, want Redis's WRONGTYPE", name, err)
		}
	}
}

// TestReadTakesRejects reads replies that take.lua does not send.
func TestReadTakesRejects(t *testing.T) {
	r := mustRule(t, 1, limiter.Algorithm{}, limiter.Limit{Events: 3, Window: time.Hour})
	g := group{{Rule: r, Key: []byte("key"), Cost: 1}}
	for _, reply := range []any{
		nil, "OK", []any{}, []any{int64(1), int64(0), int64(5), int64(0), int64(0)},
		[]any{int64(1), int64(0), "5", int64(0), int64(0), int64(0)},
		[]any{int64(1), int64(0), int64(5), int64(0), int64(0), int64(1)},
		[]any{int64(1), int64(0), int64(5), int64(0), int64(0), "slots"},
		[]any{int64(1), int64(0), int64(5), int64(0), int64(0), int64(0), int64(0)},
	} {
		if _, err := readTakes(reply, g, true); err == nil {
			t.Errorf("readTakes(%v) = no error, want one", reply)
		}
	}
	if _, err := readTakes([]any{int64(1), int64(0), int64(5), int64(1), int64(0), int64(0)}, g, true); err != nil {
		t.Errorf("readTakes of a good reply = %v, want no error", err)
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		limiter.Algorithm
		limiter.Limit
		want string // part of the error
	}{
		{limiter.Algorithm{}, limiter.Limit{Events: 7, Window: 24 * time.Hour}, ""},
		{limiter.Algorithm{}, limiter.Limit{Events: 1000, Window: limiter.MaxWindow}, ""},
		{limiter.Algorithm{}, limiter.Limit{Events: 7, Window: limiter.MaxWindow}, "cannot be counted exactly in Redis"},
		{sliding(1), limiter.Limit{Events: 7, Window: limiter.MaxWindow}, ""},
	} {
		err := Check(mustRule(t, 1, test.Algorithm, test.Limit))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("Check(%v, %v) = %v, want %q", test.Algorithm, test.Limit, err, test.want)
		}
	}
}
