package redisstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestRedisOutOfMemory fills a Redis that evicts nothing. A key at its limit stays denied, and a
// flood of new keys costs Redis a bounded number of calls.
func TestRedisOutOfMemory(t *testing.T) {
	server := redistest.NewServer(t)
	redis := server.Client()
	s := New(connect(t, redisconn.Options{Addresses: []string{server.Addr}}), "rl")
	r := mustRule(t, 1, limiter.Algorithm{}, limiter.Limit{Events: 3, Window: time.Hour})
	if take(t, s, r, "full", 3); take(t, s, r, "full", 1).OK {
		t.Fatal("the fourth event was admitted")
	}
	set := func(name, value string) {
		t.Helper()
		if err := redis.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("maxmemory-policy", "noeviction")
	set("maxmemory", "1")
	if err := redis.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for i := range 3000 {
		takes := []limiter.Take{{Rule: r, Key: []byte(fmt.Sprint("strict", i)), Cost: 1}}
		if err := s.Take(t.Context(), 0, takes); !errors.Is(err, redisconn.ErrMemory) {
			t.Fatalf("take of a new key: error = %v, want ErrMemory", err)
		}
		answer := make(chan error, 1)
		s.Lend([]limiter.LeaseRequest{{Rule: r, Key: []byte(fmt.Sprint("lease", i)), Need: 1}}, nil, func(err error) { answer <- err })
		if err := <-answer; !errors.Is(err, redisconn.ErrMemory) {
			t.Fatalf("lease request of a new key: error = %v, want ErrMemory", err)
		}
		if i%300 == 0 {
			if d := take(t, s, r, "full", 1); d.OK {
				t.Errorf("a key at its limit after %d new keys: %+v, want a denial", i, d)
			}
		}
	}
	seconds := 1 + int(time.Since(start)/time.Second)
	if n, most := refusals(t, server), 100*(1+seconds); n == 0 || n > most {
		t.Errorf("Redis has refused %d of 6000 calls within %d s, want some and at most %d", n, seconds, most)
	}
	if names := redis.Keys(t.Context(), "rl:*").Val(); len(names) != 1 {
		t.Errorf("keys = %q, want only the old one", names)
	}
	set("maxmemory", "0")
	redistest.Eventually(t, "an answer about a new key", func() bool {
		takes := []limiter.Take{{Rule: r, Key: []byte("new"), Cost: 1}}
		return s.Take(t.Context(), 0, takes) == nil
	})
}

// refusals returns how many calls a server has refused because it was out of memory.
func refusals(t *testing.T, s *redistest.Server) (n int) {
	t.Helper()
	_, stat, found := strings.Cut(s.Client().Info(t.Context(), "errorstats").Val(), "errorstat_OOM:count=")
	if !found {
		return 0
	}
	if _, err := fmt.Sscan(stat, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestKnownKeys checks that keys that were added are known, that others are not, and that the keys
// of a small fleet do not evict each other.
func TestKnownKeys(t *testing.T) {
	k := newKnownKeys()
	key := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	for n := range uint64(1000) {
		k.add(key(n))
	}
	lost, guessed := 0, 0
	for n := range uint64(1000) {
		if !k.has(key(n)) {
			lost++
		}
		if k.has(key(rand.Uint64() | 1<<63)) {
			guessed++
		}
	}
	if lost > 50 || guessed > 0 {
		t.Errorf("%d of 1000 added keys are not known and %d of 1000 others are, want a few and none", lost, guessed)
	}
}
