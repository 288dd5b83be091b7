package redistest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A kind is the role that a redis-server process starts in.
type kind string

const (
	standalone   kind = "redis"
	clusterNode  kind = "cluster node"
	sentinelNode kind = "sentinel"
)

// The files in a server's directory.
const (
	confFile = "redis.conf"
	logFile  = "log"
)

// ready matches the log of a server that is ready.
var ready = regexp.MustCompile("Ready to accept connections|Sentinel ID is")

// startServer starts a server on free ports.
func startServer(k kind, options ...string) (s *Server, err error) {
	s = &Server{kind: k}
	if s.dir, err = os.MkdirTemp("", "redistest"); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err == nil {
		s.bus, err = freePort()
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, confFile), k.config(port, s.bus, options), 0o600)
	}
	s.Addr = address(port)
	s.client = newClient(s.Addr, options)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.launchLocked()
	}
	if err != nil {
		s.closeLocked()
		return nil, err
	}
	return s, nil
}

// config returns a configuration file. The options come last, so they override the lines before.
func (k kind) config(port, bus int, options []string) []byte {
	lines := []string{fmt.Sprint("port ", port), "bind " + host, "protected-mode no"}
	if k != sentinelNode {
		lines = append(lines, `save ""`, "repl-diskless-sync-delay 0") // replicas get data at once, not after 5 s
	}
	if k == clusterNode {
		lines = append(lines,
			"cluster-enabled yes",
			fmt.Sprint("cluster-port ", bus), // the default, port + 10000, may be taken
			"cluster-config-file nodes.conf",
			"cluster-node-timeout 2000",
			"cluster-replica-validity-factor 0",  // a replica takes over however long its link was down
			"cluster-allow-replica-migration no", // a replica stays with its primary
		)
	}
	return []byte(strings.Join(append(lines, options...), "\n") + "\n")
}

// launchLocked kills the process, if there is one, starts a new process, and returns when that is ready.
func (s *Server) launchLocked() error {
	if s.proc != nil {
		s.proc.kill()
	}
	s.paused = false
	program, err := binary()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, confFile)
	if s.kind == sentinelNode {
		cmd.Args = append(cmd.Args, "--sentinel")
	}
	cmd.Dir, cmd.SysProcAttr = s.dir, ChildAttributes(syscall.SIGKILL)
	before := len(s.log())
	if s.proc, err = StartProcess(cmd, logFile); err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	running := true
	err = until(func(context.Context) error {
		running = s.proc.Running() // before the log is read, so that the log is complete if the process has ended
		if ready.MatchString(s.log()[before:]) || !running {
			return nil
		}
		return errors.New("not ready")
	})
	if err == nil && !running {
		err = errors.New("the process has ended")
	}
	if err != nil {
		s.proc.kill()
		return fmt.Errorf("redistest: starting %s %s: %w; its log ends with\n%s", s.kind, s.Addr, err, s.logTail())
	}
	return nil
}

// A group is several servers.
type group []*Server

// startGroup starts n servers at the same time.
func startGroup(n int, k kind, options ...string) (group, error) {
	var (
		g    = make(group, n)
		errs = make([]error, n)
		wg   sync.WaitGroup
	)
	for i := range n {
		wg.Go(func() { g[i], errs[i] = startServer(k, options...) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g group) attach(t testing.TB) {
	for _, s := range g {
		s.attach(t)
	}
}

// each calls f for all servers, and joins their errors.
func (g group) each(f func(*Server) error) error {
	var errs []error
	for _, s := range g {
		errs = append(errs, f(s))
	}
	return errors.Join(errs...)
}

func (g group) close() {
	for _, s := range g {
		if s != nil {
			s.Close()
		}
	}
}

// synced returns an error when the server is a replica without a link to its primary.
func (s *Server) synced(ctx context.Context) error {
	info, err := s.client.InfoMap(ctx, "replication").Result()
	if err != nil {
		return fmt.Errorf("%s: %w", s.Addr, err)
	}
	if r := info["Replication"]; r["role"] == "slave" && r["master_link_status"] != "up" {
		return fmt.Errorf("%s has no link to its primary", s.Addr)
	}
	return nil
}
