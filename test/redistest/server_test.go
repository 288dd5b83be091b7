package redistest

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

func TestServerAnswersAlone(t *testing.T) {
	a, b := NewServer(t), NewServer(t)
	if a.Addr == b.Addr {
		t.Fatalf("both servers listen at %s", a.Addr)
	}
	set(t, a, "k", "v")
	if got := get(t, a, "k"); got != "v" {
		t.Errorf("k = %q, want v", got)
	}
	if got := get(t, b, "k"); got != "" {
		t.Errorf("k = %q on a server that does not have it", got)
	}
	if got := a.Client(); got != a.Client() {
		t.Error("Client returns another client each time, want the same")
	}
}

func TestServerOptions(t *testing.T) {
	s := NewServer(t, "maxmemory 12345678", "requirepass secret")
	got, err := s.Client().ConfigGet(t.Context(), "maxmemory").Result()
	if err != nil {
		t.Fatal(err)
	}
	if got["maxmemory"] != "12345678" {
		t.Errorf("maxmemory = %q, want 12345678", got["maxmemory"])
	}
}

func TestServerWithAWrongOptionSaysWhatIsWrong(t *testing.T) {
	_, err := startServer(alone, "maxmemory many")
	if err == nil || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("error = %v, want one with what the server has printed", err)
	}
}

// TestServerSaysThatItsPortIsTaken holds the port of a server that is about to start.
func TestServerSaysThatItsPortIsTaken(t *testing.T) {
	s, err := newServer(alone, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	l, err := net.Listen("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	s.mu.Lock()
	err = s.launchLocked()
	s.mu.Unlock()
	if !errors.Is(err, errPortTaken) {
		t.Errorf("error = %v, want errPortTaken, on which another port is tried", err)
	}
}

func TestServerPause(t *testing.T) {
	s := NewServer(t)
	set(t, s, "k", "v")

	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := s.Client().Ping(ctx).Result(); err == nil {
		t.Errorf("PING to a paused server = %q, want a timeout", got)
	}
	s.Resume()
	if got := get(t, s, "k"); got != "v" {
		t.Errorf("k = %q after Resume, want v", got)
	}
}

func TestServerRestart(t *testing.T) {
	s := NewServer(t, "maxmemory 12345678")
	set(t, s, "k", "v")

	s.Kill()
	if conn, err := net.Dial("tcp", s.Addr); err == nil {
		_ = conn.Close()
		t.Error("something still listens after Kill")
	}
	s.Restart()
	if got := get(t, s, "k"); got != "" {
		t.Errorf("k = %q after Restart, want nothing: nothing is saved", got)
	}
	if got := s.Client().ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]; got != "12345678" {
		t.Errorf("maxmemory = %q after Restart, want 12345678", got)
	}

	s.Pause()
	s.Kill() // one that is paused
	s.Restart()
	set(t, s, "k", "v")
}

// TestSharedIsCleanForEachCaller has every caller leave something behind.
func TestSharedIsCleanForEachCaller(t *testing.T) {
	tests := []struct {
		name  string
		leave func(s *Server)
	}{
		{"keys and scripts", func(*Server) {}},
		{"paused", (*Server).Pause},
		{"killed", (*Server).Kill},
		{"well again", func(*Server) {}},
	}
	var addr string
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Shared(t)
			if addr != "" && s.Addr != addr {
				t.Errorf("server at %s, want the same as before, %s", s.Addr, addr)
			}
			addr = s.Addr
			if got := get(t, s, "k"); got != "" {
				t.Errorf("k = %q at the start, want nothing", got)
			}
			const script = "return 1"
			if err := s.Client().EvalSha(t.Context(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", nil).Err(); err == nil {
				t.Error("the script of another caller is still there")
			}
			if err := s.Client().Eval(t.Context(), script, nil).Err(); err != nil {
				t.Fatal(err)
			}
			set(t, s, "k", "v")
			tt.leave(s)
		})
	}
}

func set(t *testing.T, s *Server, key, value string) {
	t.Helper()
	if err := s.Client().Set(t.Context(), key, value, 0).Err(); err != nil {
		t.Fatalf("SET %s: %v", key, err)
	}
}

// get returns a value, and nothing where there is none.
func get(t *testing.T, s *Server, key string) string {
	t.Helper()
	values, err := s.Client().MGet(t.Context(), key).Result()
	if err != nil {
		t.Fatalf("MGET %s: %v", key, err)
	}
	value, _ := values[0].(string)
	return value
}
