package redistest

import (
	"context"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestServerStates puts a server into each of its states. Nothing remains of it after its test.
func TestServerStates(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Server)
		answer string // to GET k, whose value is v; "none" after a timeout or a refused connection
	}{
		{"running", func(*Server) {}, "v"},
		{"paused", (*Server).Pause, "none"},
		{"resumed", func(s *Server) { s.Pause(); s.Resume() }, "v"},
		{"killed", (*Server).Kill, "none"},
		{"killed while paused", func(s *Server) { s.Pause(); s.Kill() }, "none"},
		{"restarted", func(s *Server) { s.Kill(); s.Restart() }, ""},
		{"restarted while it ran", (*Server).Restart, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := goroutines()
			var s *Server
			t.Run("inner", func(t *testing.T) {
				s = NewServer(t, "maxmemory 12345678", "requirepass secret")
				set(t, s, "k", "v")
				tt.change(s)
				ctx, cancel := context.WithTimeout(t.Context(), reply)
				defer cancel()
				values, err := s.Client().MGet(ctx, "k").Result()
				if err != nil {
					values = []any{"none"}
				}
				if got, _ := values[0].(string); got != tt.answer {
					t.Errorf("k = %q (error %v), want %q", got, err, tt.answer)
				}
				if err == nil && s.Client().ConfigGet(ctx, "maxmemory").Val()["maxmemory"] != "12345678" {
					t.Error("the server does not have the option maxmemory 12345678")
				}
			})
			if conn, err := net.Dial("tcp", s.Addr); err == nil {
				_ = conn.Close()
				t.Error("the server still listens after its test")
			}
			if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
				t.Errorf("its directory after the test: %v, want that it does not exist", err)
			}
			Eventually(t, "the end of its goroutines", func() bool { return goroutines() <= before })
		})
	}
}

// goroutines counts the goroutines that wait for a process or serve a client.
func goroutines() int {
	buf := make([]byte, 4<<20)
	stacks := string(buf[:runtime.Stack(buf, true)])
	return strings.Count(stacks, "created by github.com/fleetlimit/fleetlimit/test/redistest.StartProcess") +
		strings.Count(stacks, "created by github.com/redis/go-redis")
}

func TestStartErrorHasTheLog(t *testing.T) {
	start := time.Now()
	_, err := StartServer("maxmemory many")
	if err == nil || !strings.Contains(err.Error(), "argument must be a memory value") {
		t.Errorf("error = %v, want one with the output of the server", err)
	}
	if took := time.Since(start); took > patience/2 {
		t.Errorf("it took %v, want less: the server ends at once", took)
	}
}

// Each caller of Shared leaves a key, a script and a fault behind.
func TestSharedServerIsEmptyForEachCaller(t *testing.T) {
	addr := Shared(t).Addr
	for _, leave := range []func(*Server){func(*Server) {}, (*Server).Pause, (*Server).Kill, func(*Server) {}} {
		s := Shared(t)
		if s.Addr != addr {
			t.Errorf("the server listens at %s, want the same as before: %s", s.Addr, addr)
		}
		if got := get(t, s, "k"); got != "" {
			t.Errorf("k = %q at the start, want no key", got)
		}
		if s.Client().EvalSha(t.Context(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", nil).Err() == nil {
			t.Error("the script of another caller is still there")
		}
		if err := s.Client().Eval(t.Context(), "return 1", nil).Err(); err != nil {
			t.Fatal(err)
		}
		set(t, s, "k", "v")
		leave(s)
	}
}

func set(t *testing.T, s *Server, key, value string) {
	t.Helper()
	if err := s.Client().Set(t.Context(), key, value, 0).Err(); err != nil {
		t.Fatalf("SET %s: %v", key, err)
	}
}

// get returns a value, or "" if there is none.
func get(t *testing.T, s *Server, key string) string {
	t.Helper()
	values, err := s.Client().MGet(t.Context(), key).Result()
	if err != nil {
		t.Fatalf("MGET %s: %v", key, err)
	}
	value, _ := values[0].(string)
	return value
}
