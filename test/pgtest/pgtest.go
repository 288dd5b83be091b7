// Package pgtest starts real PostgreSQL servers for tests, on free loopback ports and in temporary
// directories. They run as a user that is not root, as PostgreSQL demands.
//
// NewServer starts a server for one test. Shared starts one per test binary, which is faster. Tests that
// share it may run in parallel, because each has a database of its own. They need a TestMain:
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// A test fails, and is not skipped, when the programs are missing or too old; need-postgres.sh installs them.
// A test that fails logs the last lines of its server. All servers end with the test binary. On Linux, they
// also end with a test binary that is killed.
package pgtest

import (
	"os"
	"sync"
	"testing"
)

var (
	running bool // whether Main will close the shared server
	shared  = sync.OnceValues(func() (*Server, error) { return startServer() })
	started bool // whether shared was called
	mu      sync.Mutex
)

// Main runs the tests of a binary, closes the shared server, and exits.
func Main(m *testing.M) {
	running = true
	code := m.Run()
	if started {
		if s, err := shared(); err == nil {
			s.Close()
		}
	}
	os.Exit(code)
}

// Shared returns the server of this test binary. Tests must not kill it, nor change its
// configuration, roles and other databases than their own.
func Shared(t testing.TB) *Server {
	t.Helper()
	if !running {
		t.Fatal("pgtest: nothing closes a shared server: use pgtest.Main in TestMain")
	}
	mu.Lock()
	started = true
	mu.Unlock()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	s.logTo(t)
	return s
}

// StartServer starts a server for a program that is not a test. The program must call Close at the
// end, and must not call methods that report to a test.
func StartServer(options ...string) (*Server, error) { return startServer(options...) }

// NewServer starts a server for one test. The options are lines of postgresql.conf, which override
// those of every server.
func NewServer(t testing.TB, options ...string) *Server {
	t.Helper()
	s, err := startServer(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.logTo(t) // after Cleanup, so that the log is shown before it is removed
	return s
}
