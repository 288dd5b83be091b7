package redisconn

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestSilent has a primary that is asked at 0 and 100 ms, and answers at 200 ms.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t)
		silent := func(d time.Duration, want bool) {
			t.Helper()
			if got := q.silentFor(d * time.Millisecond); got != want {
				t.Errorf("silent for %d ms = %v, want %v", d, got, want)
			}
		}
		silent(0, false)
		for range 2 {
			if err := q.push(pendingUntil(time.Minute)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		silent(200, false)
		silent(199, true)
		q.answered()
		silent(0, false)
	})
}

// TestRefusal calls a server that answers, hangs, answers again, and is killed.
func TestRefusal(t *testing.T) {
	redis := redistest.NewServer(t)
	c := New(Options{Addresses: []string{redis.Addr}, Timeout: 50 * time.Millisecond})
	t.Cleanup(c.Close)
	await := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !done(); {
			if time.Now().After(deadline) {
				t.Fatalf("waited 10 s for %s", what)
			}
		}
	}
	await("an answer", func() bool { return do(t, c, count, "key", "field").Err == nil })
	refused := func() bool { return c.Refusal("key") != nil }
	if refused() {
		t.Errorf("calls to a server that has answered are refused: %v", c.Refusal("key"))
	}
	redis.Pause()
	await("silence", func() bool { return do(t, c, count, "key", "field").Err != nil && refused() })
	redis.Resume()
	await("another answer", func() bool { return do(t, c, count, "key", "field").Err == nil && !refused() })
	redis.Kill()
	await("the end", func() bool { return do(t, c, count, "key", "field").Err != nil && refused() })
	if refusal, err := c.Refusal("key"), do(t, c, count, "key", "field").Err; !errors.Is(refusal, ErrOpen) || !errors.Is(err, ErrOpen) {
		t.Errorf("refusal = %v, a call fails with %v, want both %v", refusal, err, ErrOpen)
	}

	unknown := New(Options{Mode: Cluster, Addresses: []string{redis.Addr}})
	t.Cleanup(unknown.Close)
	await("the primaries cannot be loaded", func() bool { return errors.Is(unknown.Refusal("key"), ErrNoPrimary) })
}

func TestShortage(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	var s shortage
	// admitted returns how many of 1000 calls are admitted at the time after past the start.
	admitted := func(after time.Duration) (n int) {
		for range 1000 {
			if s.admits(start.Add(after)) {
				n++
			}
		}
		return n
	}
	if n := admitted(0); n != 1000 {
		t.Errorf("with room: %d of 1000 calls were admitted, want all", n)
	}
	s.refused(start)
	for _, step := range []struct {
		after time.Duration
		want  int
	}{
		{0, 100},
		{999 * time.Millisecond, 0},
		{time.Second, 100},
		{1500 * time.Millisecond, 0},
		{4999 * time.Millisecond, 100},
		{5 * time.Second, 1000},
	} {
		if n := admitted(step.after); n != step.want {
			t.Errorf("%v after the refusal: %d of 1000 calls were admitted, want %d", step.after, n, step.want)
		}
	}
}

// TestOutOfMemory has a Redis refuse writes. The primary does not count as failing, and few calls
// that may create keys are sent.
func TestOutOfMemory(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Timeout: patience})
	ready(t, c, "k")
	if err := s.Client().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	take := func(key string, newKey bool) *Call {
		call := &Call{Script: count, Keys: []string{key}, Args: []any{1}, NewKey: newKey}
		c.Do(t.Context(), call)
		return call
	}
	refused, start := 0, time.Now()
	for i := range 1000 {
		call := take(fmt.Sprint("new", i), true)
		if !errors.Is(call.Err, ErrMemory) {
			t.Fatalf("a call for a new key: error = %v, want ErrMemory", call.Err)
		}
		if call.Incarnation == 0 { // no server has answered
			refused++
		}
	}
	seconds := 1 + int(time.Since(start)/time.Second)
	if least := 999 - 100*seconds; refused < least {
		t.Errorf("%d of 1000 calls for new keys were not sent within %d s, want at least %d", refused, seconds, least)
	}
	if call := take("k", false); !errors.Is(call.Err, ErrMemory) || call.Incarnation == 0 {
		t.Errorf("a call for a key that exists: error = %v, want Redis's refusal", call.Err)
	}
	if c.Failing() {
		t.Error("the primary counts as failing though it answers")
	}
	if err := s.Client().ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if call := take("k", false); call.Err != nil {
		t.Errorf("when there is room again: %v", call.Err)
	}
	until(t, "an answer about a new key", func() bool { return take("new", true).Err == nil })
}
