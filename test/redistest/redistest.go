// Package redistest starts real redis-server processes for tests, on free loopback ports in temporary directories, and
// ends them: a server alone, a cluster of three primaries with a replica each, and a primary with a replica under three
// sentinels.
//
// NewServer, NewCluster and NewSentinel start processes for one test, which may do with them what it likes. Shared,
// SharedCluster and SharedSentinel start them once per test binary and hand them over empty: that is faster, but such
// tests must not run in parallel. They need a TestMain:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
// A test fails, and is not skipped, where redis-server is missing or too old: need-redis.sh gets it. The processes are
// killed at the end, so they never write anything that would outlive them. On Linux they also end with a test binary
// that is killed.
//
// The methods that take no testing.TB report to the test that has the server. Like t.Fatal itself, those that wait for
// something have to be called by that test's own goroutine; Pause, Resume and Kill may be called by any.
//
// StartServer and StartCluster do without tests; benchmarks begin with them.
package redistest

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// Main runs the tests of a binary, ends what they shared, and exits.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for a TestMain that has more to do before it exits with the code.
func Run(m *testing.M) (code int) {
	mainRuns.Store(true)
	defer func() {
		sharedServer.end()
		sharedCluster.end()
		sharedSentinel.end()
	}()
	return m.Run()
}

var (
	mainRuns atomic.Bool // somebody ends what is shared

	sharedServer   shared[*Server]
	sharedCluster  shared[*Cluster]
	sharedSentinel shared[*Sentinel]
)

// A topology is what tests can share.
type topology interface {
	lend(t testing.TB) // reports to t from now on
	clean() error      // brings back what is paused or killed, and removes all keys and scripts
	end()              // ends the processes and removes their directories
}

// A shared is a topology of the test binary, started when it is first asked for.
type shared[T topology] struct {
	mu      sync.Mutex // guards what follows
	asked   bool
	value   T
	problem error // why there is no value
}

// get returns the topology, clean and lent to t.
func (s *shared[T]) get(t testing.TB, start func() (T, error)) T {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		s.asked = true
		s.problem = errors.New("redistest: the package's TestMain has to call redistest.Main, which ends what tests share")
		if mainRuns.Load() {
			s.value, s.problem = start()
		}
	}
	if s.problem != nil {
		t.Fatal(s.problem)
	}
	s.value.lend(t)
	if err := s.value.clean(); err != nil {
		t.Fatal(err)
	}
	return s.value
}

// end ends the topology if there is one.
func (s *shared[T]) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked && s.problem == nil {
		s.value.end()
	}
}

// own makes a topology that was just started the test's own.
func own[T topology](t testing.TB, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(value.end)
	value.lend(t) // after the above: logs are shown before they are removed
	return value
}
