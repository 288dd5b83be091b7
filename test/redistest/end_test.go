package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestNothingIsLeft starts a server for a test that ends, in each of its states.
func TestNothingIsLeft(t *testing.T) {
	tests := []struct {
		name  string
		leave func(*Server)
	}{
		{"running", func(*Server) {}},
		{"paused", (*Server).Pause},
		{"killed", (*Server).Kill},
		{"restarted", func(s *Server) { s.Kill(); s.Restart() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := ownGoroutines()
			var s *Server
			t.Run("inner", func(t *testing.T) {
				s = NewServer(t)
				set(t, s, "k", "v")
				tt.leave(s)
			})
			if conn, err := net.Dial("tcp", s.Addr); err == nil {
				_ = conn.Close()
				t.Error("something still listens at the server's address")
			}
			if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
				t.Errorf("its directory: %v, want that it does not exist", err)
			}
			if ports.held[s.ports[0]] {
				t.Error("its port is still held")
			}
			err := until(func(context.Context) error {
				if after := ownGoroutines(); after > before {
					return fmt.Errorf("%d goroutines of this package and of clients, and %d before", after, before)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// ownGoroutines counts the goroutines that wait for a process or serve a client.
func ownGoroutines() int {
	buf := make([]byte, 4<<20)
	buf = buf[:runtime.Stack(buf, true)]
	n := 0
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(stack, "redistest.startProcess") || strings.Contains(stack, "go-redis") {
			n++
		}
	}
	return n
}

func TestSharedNeedsMain(t *testing.T) {
	mainRuns.Store(false)
	defer mainRuns.Store(true)
	var (
		lonely shared[*Server]
		fake   = &failingT{TB: t}
	)
	done := make(chan struct{})
	go func() {
		defer close(done)
		lonely.get(fake, func() (*Server, error) { return startServer(alone) })
	}()
	<-done
	if !strings.Contains(fake.said, "has to call redistest.Main") {
		t.Errorf("the test failed with %q, want that TestMain has to call Main", fake.said)
	}
}

// A failingT is a test that is over when it fails, without its parent.
type failingT struct {
	testing.TB
	said string
}

func (t *failingT) Fatal(args ...any) {
	t.said = fmt.Sprint(args...)
	runtime.Goexit()
}

func (t *failingT) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }
