package redisconn

import (
	"slices"
	"strings"
	"testing"
	"time"

	redis "github.com/redis/go-redis/v9"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const noSuchScript = "NOSCRIPT No matching script. Please use EVAL."

// roundTrips returns how often call is written until it is answered.
func roundTrips(t *testing.T, c *Client, key string, script *Script) (written int) {
	t.Helper()
	done := make(chan struct{})
	call := &Call{Script: script, Keys: []string{key}, Args: []any{1}, Written: func() { written++ }}
	c.Start(call, func() { close(done) })
	<-done
	if call.Err != nil {
		t.Error(call.Err)
	}
	return written
}

// TestFirstCallOfScript calls a script that Redis does not know, for example after a restart. Only
// after SCRIPT FLUSH is a call written twice, and then only the first call.
func TestFirstCallOfScript(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, PoolSize: 1}) // another one would not notice the loss
	ready(t, c, "k")
	n := 0
	fresh := func() *Script { n++; return NewScript("return " + strings.Repeat(" ", n) + "1") }
	script := fresh()
	for _, step := range []struct {
		name   string
		before func()
		want   int
	}{
		{"after a start", func() {}, 1},
		{"again", func() {}, 1},
		{"after a restart", func() { s.Restart(); ready(t, c, "k") }, 1},
		{"after SCRIPT FLUSH", func() { s.Client().ScriptFlush(t.Context()) }, 2},
		{"after that", func() {}, 1},
	} {
		step.before()
		if got := roundTrips(t, c, "k", script); got != step.want {
			t.Errorf("%s: the call was written %d times, want %d", step.name, got, step.want)
		}
	}
	c = open(t, Options{Addresses: []string{s.Addr}})
	ready(t, c, "k")
	roundTrips(t, c, "k", script)
	s.Client().ScriptFlush(t.Context())
	roundTrips(t, c, "k", script)
	for range 20 { // over all connections
		if got := roundTrips(t, c, "k", script); got != 1 {
			t.Errorf("after SCRIPT FLUSH and one call: another was written %d times, want once", got)
		}
	}
}

// TestScriptsAreLoadedAfterRestart has Redis restart. Redis knows the scripts of earlier calls before
// the first call reaches it over any connection.
func TestScriptsAreLoadedAfterRestart(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}})
	script := NewScript("return 'known before'")
	ready(t, c, "k")
	roundTrips(t, c, "k", script)
	s.Restart()
	ready(t, c, "k") // by another script
	if known, err := s.Client().ScriptExists(t.Context(), script.digest).Result(); err != nil || !known[0] {
		t.Errorf("the script is known after a restart: %v, %v, want it loaded", known, err)
	}
}

// TestFirstCallAtPrimaries has the first call of a script go to each primary of a cluster.
func TestFirstCallAtPrimaries(t *testing.T) {
	cluster := redistest.SharedCluster(t)
	c := open(t, Options{Mode: Cluster, Addresses: cluster.Addrs})
	script := NewScript("return 'at each primary'")
	for _, key := range keysByPrimary(t, cluster) {
		ready(t, c, key)
		if got := roundTrips(t, c, key, script); got != 1 {
			t.Errorf("the call with key %s was written %d times, want once", key, got)
		}
	}
}

// TestScriptNeverKnown checks that a call is not sent again for ever if Redis never knows its script.
func TestScriptNeverKnown(t *testing.T) {
	f := newFake(t, nil, func([]string) string { return "-" + noSuchScript + "\r\n" })
	c := open(t, Options{Addresses: []string{f.addr}, Timeout: patience})
	if call := do(t, c, count, "k", 1); call.Err == nil || call.Err.Error() != noSuchScript {
		t.Errorf("error = %v, want %s", call.Err, noSuchScript)
	}
	if got, want := f.commands(), []string{"evalsha", "evalsha", "evalsha"}; !slices.Equal(got, want) || f.sent("script") != 3 {
		t.Errorf("sent = %v and %d scripts, want %v with one each", got, f.sent("script"), want)
	}
}

// TestNoScriptAfterCallerLeft has a caller leave before a NOSCRIPT. Its call is not sent again.
func TestNoScriptAfterCallerLeft(t *testing.T) {
	f := newFake(t, nil, func(command []string) string {
		if command[len(command)-1] == "next" {
			return ":1\r\n"
		}
		<-time.After(2 * defaultTimeout)
		return "-" + noSuchScript + "\r\n"
	})
	c := open(t, Options{Addresses: []string{f.addr}, PoolSize: 1})
	until(t, "a call that was sent", func() bool { return do(t, c, count, "k", "late").Err == ErrTimeout })
	sent := f.sent("evalsha")
	until(t, "an answer to the next call", func() bool { return do(t, c, count, "k", "next").Err == nil })
	late := 0
	for _, args := range sentArgs(f) {
		if args[0] == "late" {
			late++
		}
	}
	if sent == 0 || late != sent {
		t.Errorf("the call was sent %d times before its caller left, and %d times in all", sent, late)
	}
}

// TestNoScriptAfterDeadline has a NOSCRIPT come when it is too late to send the call.
func TestNoScriptAfterDeadline(t *testing.T) {
	w := newTestWorker(newTestQueue(t))
	w.client = open(t, Options{})
	late := pendingUntil(-time.Second)
	call := new(redis.Cmd)
	call.SetErr(reply(noSuchScript))
	w.handle([]*pending{late}, []*redis.Cmd{call})
	if late.err != ErrUnsent {
		t.Errorf("error = %v, want %v", late.err, ErrUnsent)
	}
}
