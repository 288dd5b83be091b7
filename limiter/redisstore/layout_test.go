package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestValuesAreShort pins the sizes that the memory per key depends on: fields of 4 bytes, and
// values of at most 20 for most rules, and 25 for sliding windows.
func TestValuesAreShort(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s := New(connect(t, standalone(t)), "rl")
	for i, test := range []struct {
		limiter.Algorithm
		limiter.Limit
		cost int64
		want int // bytes of the value
	}{
		{limiter.Algorithm{}, limiter.Limit{Events: limiter.MaxEvents, Window: time.Hour}, limiter.MaxEvents, 20},
		{limiter.Algorithm{Kind: limiter.FixedWindow}, limiter.Limit{Events: limiter.MaxEvents, Window: time.Hour}, limiter.MaxEvents, 19},
		{sliding(1), limiter.Limit{Events: 1 << 32, Window: time.Hour}, 1<<32 - 1, 24},
		{sliding(2), limiter.Limit{Events: 1 << 24, Window: time.Hour}, 1<<24 - 1, 25},
		{sliding(3), limiter.Limit{Events: 1 << 16, Window: time.Hour}, 1<<16 - 1, 24},
		{sliding(3), limiter.Limit{Events: 100, Window: time.Hour}, 1, 20},
	} {
		key := fmt.Sprint("key", i)
		take(t, s, mustRule(t, 0x01020304, test.Algorithm, test.Limit), key, test.cost)
		fields, err := redis.HGetAll(t.Context(), "rl:{"+key+"}").Result()
		if err != nil {
			t.Fatal(err)
		}
		if value := fields["\x01\x02\x03\x04"]; len(fields) != 2 || len(value) != test.want || len(fields["@"]) != 7 {
			t.Errorf("hash of %v, %v = %q, want one value of %d bytes, and the creation", test.Algorithm, test.Limit, fields, test.want)
		}
		if encoding := redis.ObjectEncoding(t.Context(), "rl:{"+key+"}").Val(); encoding != "listpack" {
			t.Errorf("encoding of %s = %s, want listpack, the compact one", key, encoding)
		}
	}
}

// TestHashNames checks that every key has one hash tag, and a Redis key of its own.
func TestHashNames(t *testing.T) {
	seen := map[string]string{}
	for _, test := range []struct{ key, want string }{
		{"alice", "rl:{alice}"},
		{"", "rl:{%}"},
		{"%", "rl:{%25}"},
		{"}", "rl:{%7D}"},
		{"%7D", "rl:{%257D}"},
		{"a}{b", "rl:{a%7D{b}"},
		{"{", "rl:{{}"},
		{"\x00\xff", "rl:{\x00\xff}"},
	} {
		got := hashName("rl", []byte(test.key))
		if got != test.want {
			t.Errorf("hash of %q = %q, want %q", test.key, got, test.want)
		}
		if other, found := seen[got]; found {
			t.Errorf("%q and %q are both %q", test.key, other, got)
		}
		seen[got] = test.key
	}
	if got, want := logName("rl:{a}", 0xbeef), "rl:{a}:0000beef"; got != want {
		t.Errorf("log = %q, want %q", got, want)
	}
}

// TestEverythingExpires checks the time to live of all that a take writes: until the reset, and at
// most an eighth longer. A later write with an earlier reset does not shorten it.
func TestEverythingExpires(t *testing.T) {
	redis := redistest.Shared(t).Client()
	s := New(connect(t, standalone(t)), "rl")
	for id, a := range algorithms {
		key := fmt.Sprint("key", id)
		long := mustRule(t, 1, a, limiter.Limit{Events: 2, Window: time.Hour})
		take(t, s, long, key, 2)
		if d := take(t, s, long, key, 1); d.OK || !d.Breach {
			t.Fatalf("third take = %+v, want a denial that is a breach", d)
		}
		take(t, s, mustRule(t, 2, a, limiter.Limit{Events: 2, Window: time.Second}), key, 2)
		names := redis.Keys(t.Context(), "*{"+key+"}*").Val()
		want := 1
		if a.Kind == limiter.SlidingWindowLog {
			want = 3
		}
		if len(names) != want {
			t.Errorf("%v: keys = %q, want %d", a, names, want)
		}
		for _, name := range names {
			least, most := 59*time.Minute, 68*time.Minute
			if a.Kind == limiter.SlidingWindow { // the previous window counts too
				most *= 2
			}
			if name == logName(hashName("rl", []byte(key)), 2) {
				least, most = 900*time.Millisecond, 2250*time.Millisecond
			}
			if ttl := redis.PTTL(t.Context(), name).Val(); ttl < least || ttl > most {
				t.Errorf("%v: time to live of %q = %v, want %v to %v", a, name, ttl, least, most)
			}
		}
	}
}

// TestExpiredFieldsAreDropped takes from one key under many rules, one after the other, so that the
// key never expires. Later takes remove the fields of earlier rules.
func TestExpiredFieldsAreDropped(t *testing.T) {
	redis := redistest.Shared(t).Client()
	client := connect(t, standalone(t))
	s := withClock(client)
	now := limiter.Instant(1_800_000_000_000_000)
	for id := range uint32(2000) {
		now += 1_000_000_000 // longer than the unit of expiries
		r := mustRule(t, id, limiter.Algorithm{}, limiter.Limit{Events: 5, Window: time.Minute})
		if err := s.Take(t.Context(), now, []limiter.Take{{Rule: r, Key: []byte("key"), Cost: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := redis.HLen(t.Context(), s.prefix+":{key}").Val(); n > 20 {
		t.Errorf("fields after 2000 rules that are gone = %d, want a few", n)
	}
}

// sliding returns a sliding window counter with n sub-windows.
func sliding(n int) limiter.Algorithm {
	return limiter.Algorithm{Kind: limiter.SlidingWindow, SubWindows: n}
}

// take takes cost events of key.
func take(t testing.TB, s *Store, r *limiter.Rule, key string, cost int64) limiter.Decision {
	t.Helper()
	takes := []limiter.Take{{Rule: r, Key: []byte(key), Cost: cost}}
	if err := s.Take(t.Context(), 0, takes); err != nil {
		t.Fatal(err)
	}
	return takes[0].Decision
}
