package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	redis "github.com/redis/go-redis/v9"
)

const host = "127.0.0.1"

// A Server is a redis-server process, which may at times be stopped or gone.
type Server struct {
	Addr string // 127.0.0.1:port

	kind   kind
	dir    string // of its configuration, its log and, in a cluster, its nodes.conf
	ports  []int
	nodeID string // in a cluster
	client *redis.Client

	mu   sync.Mutex // guards what follows
	t    testing.TB // that has the server now
	proc *process
	halt bool // it was paused, and not resumed
}

// NewServer starts a server of this test's own. The options are further lines of its configuration file, such as
// "maxmemory 10mb", and win over those that every server gets.
func NewServer(t testing.TB, options ...string) *Server {
	t.Helper()
	s, err := startServer(alone, options...)
	return own(t, s, err)
}

// Shared returns the server of this test binary, without keys and scripts. A test that changes its configuration by
// CONFIG SET or ACL takes a NewServer instead.
func Shared(t testing.TB) *Server {
	t.Helper()
	return sharedServer.get(t, func() (*Server, error) { return startServer(alone) })
}

// Client returns a client of this server alone, the same one every time. It sends a command once, heeds the context's
// deadline, and is closed when the server ends.
func (s *Server) Client() *redis.Client { return s.client }

// Pause stops the process: connections stay open, and new ones are accepted by the system, but nobody answers.
func (s *Server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Helper()
	if err := s.proc.stop(); err != nil {
		s.t.Errorf("redistest: pausing %s: %v", s.Addr, err)
	}
	s.halt = true
}

// Resume lets a paused process run again; it then answers what has piled up meanwhile.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Helper()
	if err := s.resumeLocked(); err != nil {
		s.t.Errorf("redistest: resuming %s: %v", s.Addr, err)
	}
}

func (s *Server) resumeLocked() error {
	s.halt = false
	return s.proc.resume()
}

// Kill ends the process without a chance to tell anybody, and returns when it is gone.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.kill()
	s.halt = false
}

// Restart starts the process again after Kill, in the same directory and at the same address, and returns when it
// answers. It has no keys; in a cluster, and under sentinels, it remembers its role.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Helper()
	s.proc.kill()
	s.halt = false
	if err := s.launchLocked(); err != nil {
		s.t.Fatal(err)
	}
}

// answers reports whether the process runs and is not paused.
func (s *Server) answers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.running() && !s.halt
}

// revive resumes or restarts the process where it is needed.
func (s *Server) revive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.proc.running() {
		s.halt = false
		return s.launchLocked()
	}
	if s.halt {
		return s.resumeLocked()
	}
	return nil
}

func (s *Server) lend(t testing.TB) {
	s.mu.Lock()
	again := s.t == t
	s.t = t
	s.mu.Unlock()
	if again {
		return
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s %s logged last:\n%s", s.kind.name, s.Addr, s.logTail())
		}
	})
}

func (s *Server) clean() error {
	if err := s.revive(); err != nil {
		return err
	}
	return s.flush()
}

// flush removes all keys and scripts.
func (s *Server) flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := errors.Join(s.client.FlushAll(ctx).Err(), s.client.ScriptFlush(ctx).Err()); err != nil {
		return fmt.Errorf("redistest: emptying %s: %w", s.Addr, err)
	}
	return nil
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		s.proc.kill()
	}
	if s.client != nil {
		_ = s.client.Close()
	}
	_ = os.RemoveAll(s.dir)
	for _, port := range s.ports {
		releasePort(port)
	}
}
