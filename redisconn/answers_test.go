package redisconn

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestSilence is about a primary that is asked at 0 and 100 ms, answers at 200 ms, and goes away.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTestQueue(t)
		answers := func(within time.Duration, want bool) {
			t.Helper()
			if got := q.silence.shorterThan(within * time.Millisecond); got != want {
				t.Errorf("answers within %d ms = %v, want %v", within, got, want)
			}
		}
		answers(0, true)
		for range 2 {
			if err := q.push(pendingUntil(time.Minute)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		answers(200, true)
		answers(199, false)
		q.succeed()
		answers(0, true)
		q.breakDown()
		answers(1000, false)
		q.succeed()
		answers(0, true)
	})
}

// TestAnswers asks a server that answers, that hangs, that answers again, and that is gone.
func TestAnswers(t *testing.T) {
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
	const within = 100 * time.Millisecond
	await("an answer", func() bool { return do(t, c, count, "key", "field").Err == nil })
	if !c.Answers("key", within) {
		t.Error("a server that has answered does not answer")
	}
	redis.Pause()
	await("silence", func() bool { return do(t, c, count, "key", "field").Err != nil && !c.Answers("key", within) })
	redis.Resume()
	await("another answer", func() bool { return do(t, c, count, "key", "field").Err == nil && c.Answers("key", within) })
	redis.Kill()
	await("the end", func() bool { return do(t, c, count, "key", "field").Err != nil && !c.Answers("key", time.Hour) })

	unknown := New(Options{Mode: Cluster, Addresses: []string{redis.Addr}})
	t.Cleanup(unknown.Close)
	if unknown.Answers("key", time.Hour) {
		t.Error("a primary that is not known answers")
	}
}
