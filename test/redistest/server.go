package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	redis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// A Server is a redis-server process, which may be paused or killed.
type Server struct {
	Addr string // 127.0.0.1:port

	kind   kind
	dir    string // the directory of its configuration, its log and, in a cluster, its nodes.conf
	bus    int    // the port of the cluster bus
	nodeID string // its ID in a cluster
	client *redis.Client
	t      testing.TB // the test that has the server; nil in a program

	mu     sync.Mutex // guards the fields below
	proc   *Process
	paused bool
}

// NewServer starts a server for one test. The options are added to its configuration file, such as
// "maxmemory 10mb". They override the lines of every server.
func NewServer(t testing.TB, options ...string) *Server {
	t.Helper()
	return own(t, StartServer, options)
}

// Shared returns the server of this test binary, without keys and scripts. A test that changes the
// configuration, by CONFIG SET or ACL, must use NewServer instead.
func Shared(t testing.TB) *Server {
	t.Helper()
	return sharedServer.get(t)
}

// StartServer starts a server for a program that is not a test. The program must call Close at the
// end, and must not call methods that report to a test.
func StartServer(options ...string) (*Server, error) { return startServer(standalone, options...) }

// Client returns the client of the server, which is the same each time. It sends each command once, obeys the
// context's deadline, and is closed with the server.
func (s *Server) Client() *redis.Client { return s.client }

// Pause stops the process. Connections stay open and the system accepts new ones, but the server
// does not answer.
func (s *Server) Pause() {
	s.t.Helper()
	if err := s.TryPause(); err != nil {
		s.t.Error(err)
	}
}

// TryPause does what Pause does, for a program that is not a test.
func (s *Server) TryPause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = true
	if err := s.proc.pause(); err != nil {
		return fmt.Errorf("redistest: pausing %s: %w", s.Addr, err)
	}
	return nil
}

// Resume continues a paused process, which then answers the commands that have arrived meanwhile.
func (s *Server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Helper()
	if err := s.resumeLocked(); err != nil {
		s.t.Errorf("redistest: resuming %s: %v", s.Addr, err)
	}
}

func (s *Server) resumeLocked() error {
	s.paused = false
	return s.proc.resume()
}

// Kill kills the process by SIGKILL and returns when it has ended.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proc.kill()
	s.paused = false
}

// Restart kills the process if it runs, starts it again with the same directory and address, and
// returns when it is ready. The server has no keys then. A cluster node or Sentinel keeps its role.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.t.Helper()
	if err := s.launchLocked(); err != nil {
		s.t.Fatal(err)
	}
}

// Close kills the process and removes its files.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
}

func (s *Server) closeLocked() {
	if s.proc != nil {
		s.proc.kill()
	}
	_ = s.client.Close()
	_ = os.RemoveAll(s.dir)
}

// answers reports whether the process runs and is not paused.
func (s *Server) answers() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.Running() && !s.paused
}

func (s *Server) attach(t testing.TB) {
	if s.t == t {
		return
	}
	s.t = t
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s %s ends its log with:\n%s", s.kind, s.Addr, s.logTail())
		}
	})
}

func (s *Server) reset() error { return errors.Join(s.revive(), s.flush()) }

// revive resumes or restarts the process if necessary.
func (s *Server) revive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.proc.Running():
		return s.launchLocked()
	case s.paused:
		return s.resumeLocked()
	default:
		return nil
	}
}

// flush removes all keys and scripts. A replica follows its primary.
func (s *Server) flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.client.FlushAll(ctx).Err()
	if redis.IsReadOnlyError(err) {
		err = nil
	}
	if err = errors.Join(err, s.client.ScriptFlush(ctx).Err()); err != nil {
		return fmt.Errorf("redistest: emptying %s: %w", s.Addr, err)
	}
	return nil
}

// newClient returns a client that sends each command once, and sends no commands of its own. It uses the
// password in the options of the server.
func newClient(addr string, options []string) *redis.Client {
	o := &redis.Options{
		Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	for _, line := range options {
		if password, ok := strings.CutPrefix(line, "requirepass "); ok {
			o.Password = strings.Trim(password, `"`)
		}
	}
	return redis.NewClient(o)
}

// log returns the output of the process and of the processes before it.
func (s *Server) log() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, logFile)) // no file means no output yet
	return string(text)
}

// logTail returns the last lines of the log.
func (s *Server) logTail() string {
	lines := strings.Split(strings.TrimSpace(s.log()), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}
