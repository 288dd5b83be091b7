package redisconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestDoReplies(t *testing.T) {
	c := open(t, Options{Addresses: []string{redistest.Shared(t).Addr}, Timeout: patience})
	for _, test := range []struct {
		script string
		args   []any
		reply  any
		err    string
	}{
		{script: `return 7`, reply: int64(7)},
		{script: `return ARGV[1]`, args: []any{"text"}, reply: "text"},
		{
			script: `return {ARGV[1], ARGV[2], ARGV[3]}`,
			args:   []any{[]byte("a\x00\r\n"), -5, uint8(200)},
			reply:  []any{"a\x00\r\n", "-5", "200"},
		},
		{script: `return {1, {'two', 3}}`, reply: []any{int64(1), []any{"two", int64(3)}}},
		{script: `return KEYS[1]`, reply: "k"},
		{script: `return false`},
		{script: `return redis.error_reply('NO such thing')`, err: "NO such thing"},
		{
			script: `return ARGV[1]`, args: []any{1.5},
			err: "redisconn: argument 1 is a float64: use a string, a byte slice or an integer",
		},
	} {
		call := do(t, c, NewScript(test.script), "k", test.args...)
		if got := fmt.Sprint(call.Err); test.err != "" && got != test.err || test.err == "" && call.Err != nil {
			t.Errorf("%s: error = %q, want %q", test.script, got, test.err)
		}
		if !reflect.DeepEqual(call.Reply, test.reply) {
			t.Errorf("%s: reply = %#v, want %#v", test.script, call.Reply, test.reply)
		}
	}
	keyless := &Call{Script: count}
	if c.Do(t.Context(), keyless); keyless.Err != errNoKey {
		t.Errorf("without keys: error = %v, want %v", keyless.Err, errNoKey)
	}
}

// TestTimeoutReachesTheConnection has a reply come after more than a second, but within the timeout.
func TestTimeoutReachesTheConnection(t *testing.T) {
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr)
	c := open(t, Options{Addresses: []string{proxy.Addr}, Timeout: patience})
	ready(t, c, "k")
	proxy.Delay(detached + slack)
	if call := do(t, c, NewScript(`return 7`), "k"); call.Err != nil || call.Reply != int64(7) {
		t.Errorf("call with a reply after %v = %v, %v, want 7 within %v", detached+slack, call.Reply, call.Err, patience)
	}
}

// TestConcurrentDo checks that each call gets its own reply, also among the calls of one Do.
func TestConcurrentDo(t *testing.T) {
	c := open(t, Options{Addresses: []string{redistest.Shared(t).Addr}, Timeout: patience})
	echo := NewScript(`return ARGV[1]`)
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			for n := range 20 {
				calls := make([]*Call, 1+n%5)
				for i := range calls {
					calls[i] = &Call{Script: echo, Keys: []string{"k"}, Args: []any{fmt.Sprint(g, n, i)}}
				}
				c.Do(t.Context(), calls...)
				for i, call := range calls {
					if want := fmt.Sprint(g, n, i); call.Err != nil || call.Reply != want {
						t.Errorf("call %d of %d = %v, %v, want %v", i, len(calls), call.Reply, call.Err, want)
					}
				}
			}
		})
	}
	all.Wait()
}

func TestScriptFlushFailsNoCall(t *testing.T) {
	s := redistest.Shared(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Timeout: patience})
	ctx, stop := context.WithCancel(t.Context())
	const each, perFlush = 200, 40
	var flusher, callers sync.WaitGroup
	answered := make(chan struct{}, 16*each)
	flusher.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if n%perFlush == 0 {
				s.Client().ScriptFlush(t.Context())
			}
			select {
			case <-answered:
			case <-ctx.Done():
			}
		}
	})
	for g := range 16 {
		callers.Go(func() {
			for n := range each {
				call := do(t, c, count, "flushed", fmt.Sprint(g, ".", n))
				if call.Err != nil || call.Reply != int64(1) {
					t.Errorf("call = %v, %v, want 1", call.Reply, call.Err)
				}
				answered <- struct{}{}
			}
		})
	}
	callers.Wait()
	stop()
	flusher.Wait()
	if n := s.Client().HLen(t.Context(), "flushed").Val(); n != 16*each {
		t.Errorf("%d of %d calls had an effect", n, 16*each)
	}
}

func TestSend(t *testing.T) {
	s := redistest.Shared(t)
	c := open(t, Options{Addresses: []string{s.Addr}})
	for n := range 100 {
		call := Call{Script: count, Keys: []string{"sent"}, Args: []any{n}}
		another := call
		another.Args = []any{-1 - n}
		c.Send(&call, &another)
	}
	until(t, "the effect of 200 calls", func() bool { return s.Client().HLen(t.Context(), "sent").Val() == 200 })
}

func TestRedisDownAtStart(t *testing.T) {
	s := redistest.NewServer(t)
	s.Kill()
	c := open(t, Options{Addresses: []string{s.Addr}})
	call := do(t, c, count, "k", 1)
	if op := (*net.OpError)(nil); !errors.As(call.Err, &op) {
		t.Errorf("with Redis down: error = %v, want that of the network", call.Err)
	}
	s.Restart()
	ready(t, c, "k")
}

// TestRestartLosesNoCall has the server close idle connections. The next call must notice before it is
// sent. The only error that a call may get is that the breaker is open, because a probe has found no
// server meanwhile.
func TestRestartLosesNoCall(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Timeout: patience, Breaker: quickProbes})
	for range 3 {
		ready(t, c, "k")
		s.Kill()
		s.Restart()
		until(t, "an answer", func() bool {
			call := do(t, c, count, "k", 1)
			if call.Err != nil && !errors.Is(call.Err, ErrOpen) {
				t.Errorf("after a restart: %v", call.Err)
			}
			return call.Err == nil
		})
	}
}

func TestCredentials(t *testing.T) {
	s := redistest.NewServer(t, `user limiter on >s3cret ~* +@all`, `requirepass "0therS3cret"`)
	c := open(t, Options{Addresses: []string{s.Addr}, Username: "limiter", Password: "s3cret", DB: 3})
	ready(t, c, "k")
	c = open(t, Options{Addresses: []string{s.Addr}, Password: "0therS3cret"})
	ready(t, c, "k")
	for _, o := range []Options{{Username: "limiter", Password: "wr0ng"}, {Password: "wr0ng"}, {}} {
		o.Addresses, o.Timeout = []string{s.Addr}, patience
		call := do(t, open(t, o), count, "k", 1)
		if call.Err == nil {
			t.Errorf("user %q with the password %q could log in", o.Username, o.Password)
			continue
		}
		text := call.Err.Error()
		if strings.Contains(text, "wr0ng") || !strings.Contains(text, "WRONGPASS") && !strings.Contains(text, "NOAUTH") {
			t.Errorf("user %q with a wrong password: error = %v, want WRONGPASS or NOAUTH, without the password", o.Username, call.Err)
		}
	}
	if n := s.Client().HLen(t.Context(), "k").Val(); n != 1 {
		t.Errorf("database 0 has %d effects, want one, of the second client", n)
	}
}

func TestContextEndsDo(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Timeout: patience})
	ready(t, c, "k")
	s.Pause()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	call := &Call{Script: count, Keys: []string{"k"}, Args: []any{1}}
	start := time.Now()
	c.Do(ctx, call)
	if !errors.Is(call.Err, ErrTimeout) || !errors.Is(call.Err, context.Canceled) {
		t.Errorf("error = %v, want ErrTimeout because of the context", call.Err)
	}
	if waited := time.Since(start); waited > time.Second {
		t.Errorf("Do returned %v after it was called, with a context that ended after 20 ms", waited)
	}
	s.Resume()
}

// closeCases are the states of a server when a client is closed.
var closeCases = []struct {
	name string
	prep func(s *redistest.Server)
}{
	{"hanging", (*redistest.Server).Pause},
	{"down", (*redistest.Server).Kill},
	{"up", func(*redistest.Server) {}},
}

func TestClose(t *testing.T) {
	for _, test := range closeCases {
		t.Run(test.name, func(t *testing.T) {
			s := redistest.NewServer(t)
			c := New(Options{Addresses: []string{s.Addr}, Timeout: patience})
			ready(t, c, "k")
			test.prep(s)
			closed := make(chan struct{})
			var callers sync.WaitGroup
			for range 8 {
				callers.Go(func() {
					for {
						call := do(t, c, count, "k", 1)
						if errors.Is(call.Err, ErrClosed) {
							return
						}
						if call.Err != nil && test.name != "down" {
							t.Errorf("error = %v, want %v", call.Err, ErrClosed)
						}
						select {
						case <-closed:
							t.Errorf("a call after Close: error = %v, want ErrClosed", call.Err)
							return
						default:
						}
					}
				})
			}
			<-time.After(20 * time.Millisecond)
			start := time.Now()
			c.Close()
			if took := time.Since(start); took > 500*time.Millisecond {
				t.Errorf("Close took %v", took)
			}
			callers.Wait()
			close(closed)
			c.Send(&Call{Script: count, Keys: []string{"k"}})
			c.Close() // a second one does nothing
			if stacks := goroutines(); stacks != "" {
				t.Errorf("goroutines still run:\n%s", stacks)
			}
		})
	}
}

// TestNoPrimary checks that the error gives the reason.
func TestNoPrimary(t *testing.T) {
	s := redistest.Shared(t) // neither a Sentinel nor part of a cluster
	for _, o := range []Options{
		{Mode: Cluster, Addresses: []string{s.Addr}},
		{Mode: Sentinel, Addresses: []string{s.Addr}, MasterName: "main"},
	} {
		o.Timeout = patience
		c := open(t, o)
		start := time.Now()
		call := do(t, c, count, "k", 1)
		if !errors.Is(call.Err, ErrNoPrimary) {
			t.Errorf("mode %d: error = %v, want ErrNoPrimary", o.Mode, call.Err)
		}
		if waited := time.Since(start); waited > time.Second {
			t.Errorf("mode %d: the caller waited %v", o.Mode, waited)
		}
		until(t, "an error with the reason", func() bool {
			return strings.Contains(do(t, c, count, "k", 1).Err.Error(), s.Addr+": ERR ")
		})
	}
}
