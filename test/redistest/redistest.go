// Package redistest starts real redis-server processes for tests, on free loopback ports and in temporary
// directories: a standalone server, a cluster of three primaries with a replica each, or a primary and a
// replica under three Sentinels.
//
// NewServer, NewCluster and NewSentinel start processes for one test. Shared, SharedCluster and
// SharedSentinel start them once per test binary, and return them healthy and empty. That is faster, but
// tests that share them must not run in parallel. They need a TestMain:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
// StartServer and StartCluster are for programs that are not tests, such as benchmarks.
//
// A test fails, and is not skipped, when redis-server is missing or too old; need-redis.sh installs it. A
// test that fails logs the last lines of its servers. All processes are killed at the end. On Linux, they
// also die with a test binary that is killed.
//
// Methods without a testing.TB report to the test that has the server. Methods that wait must be called by
// that test's own goroutine, like t.Fatal. Any goroutine may call Pause, Resume and Kill.
package redistest

import (
	"fmt"
	"os"
	"testing"
)

// Main runs the tests of a binary, closes the shared servers, and exits.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Exit ends a TestMain that does more than run the tests. It prints err if that is not nil, and exits with
// code, or with 1 if err is not nil.
func Exit(code int, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Run does what Main does, except that it returns the exit code.
func Run(m *testing.M) (code int) {
	running = true
	defer func() {
		sharedServer.close()
		sharedCluster.close()
		sharedSentinel.close()
	}()
	return m.Run()
}

var (
	running bool // whether Run will close the shared servers

	sharedServer   = shared[*Server]{start: StartServer}
	sharedCluster  = shared[*Cluster]{start: StartCluster}
	sharedSentinel = shared[*Sentinel]{start: startSentinel}
)

// A topology is a set of servers.
type topology interface {
	attach(t testing.TB) // makes t the test to report to
	reset() error        // revives paused and killed servers, and removes all keys and scripts
	Close()
}

// A shared topology belongs to the test binary. The first test that uses it starts it.
type shared[T topology] struct {
	start   func(options ...string) (T, error)
	started bool
	value   T
	err     error // from start
}

func (s *shared[T]) get(t testing.TB) T {
	t.Helper()
	if !running {
		t.Fatal("redistest: nothing closes a shared server: use redistest.Main in TestMain")
	}
	if !s.started {
		s.started = true
		s.value, s.err = s.start()
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	s.value.attach(t)
	if err := s.value.reset(); err != nil {
		t.Fatal(err)
	}
	return s.value
}

func (s *shared[T]) close() {
	if s.started && s.err == nil {
		s.value.Close()
	}
}

// own starts a topology for one test.
func own[T topology](t testing.TB, start func(options ...string) (T, error), options []string) T {
	t.Helper()
	value, err := start(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(value.Close)
	value.attach(t) // after Cleanup, so that logs are shown before they are removed
	return value
}
