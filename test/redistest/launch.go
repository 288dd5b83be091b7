package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	redis "github.com/redis/go-redis/v9"
)

var errPortTaken = errors.New("its port is taken")

// startServer starts a server on ports of its own. Another process may take one of them in between, so a failure is
// tried again on others.
func startServer(k kind, options ...string) (s *Server, err error) {
	for range 5 {
		if s, err = newServer(k, options); err != nil {
			return nil, err
		}
		s.mu.Lock()
		err = s.launchLocked()
		s.mu.Unlock()
		if err == nil {
			return s, nil
		}
		s.end()
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, err
}

// newServer prepares all that a server needs to be launched.
func newServer(k kind, options []string) (s *Server, err error) {
	s = &Server{kind: k}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	for range k.ports {
		port, err := holdPort()
		if err != nil {
			return s, err
		}
		s.ports = append(s.ports, port)
	}
	s.Addr = net.JoinHostPort(host, strconv.Itoa(s.ports[0]))
	s.client = redis.NewClient(clientOptions(s.Addr, options))
	if s.dir, err = os.MkdirTemp("", "redistest"); err != nil {
		return s, err
	}
	conf := strings.Join(append(k.lines(s.ports), options...), "\n") + "\n"
	return s, os.WriteFile(filepath.Join(s.dir, confFile), []byte(conf), 0o600)
}

// launchLocked starts the process and returns when it serves. s.mu is held.
func (s *Server) launchLocked() error {
	program, err := binary()
	if err != nil {
		return err
	}
	before := len(s.log())
	proc, err := startProcess(program, s.dir, filepath.Join(s.dir, logFile), append([]string{confFile}, s.kind.args...)...)
	if err != nil {
		return fmt.Errorf("redistest: starting %s: %w", program, err)
	}
	s.proc = proc
	deadline := time.After(patience)
	tick := time.NewTicker(step)
	defer tick.Stop()
	for !strings.Contains(s.log()[before:], s.kind.ready) {
		select {
		case <-s.proc.ended:
			err := errors.New("it has ended")
			if strings.Contains(s.log()[before:], "Address already in use") {
				err = errPortTaken
			}
			return fmt.Errorf("redistest: %s %s did not start: %w; it logged:\n%s", s.kind.name, s.Addr, err, s.logTail())
		case <-deadline:
			s.proc.kill()
			return fmt.Errorf("redistest: %s %s did not start in %v; it logged:\n%s", s.kind.name, s.Addr, patience, s.logTail())
		case <-tick.C:
		}
	}
	return nil
}

// log returns what the process and those before it have printed.
func (s *Server) log() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, logFile)) // no file: nothing was printed yet
	return string(text)
}

// logTail returns the last lines of the log.
func (s *Server) logTail() string {
	const n = 12
	lines := strings.Split(strings.TrimRight(s.log(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// startServers starts n servers at the same time.
func startServers(n int, k kind, options ...string) ([]*Server, error) {
	var (
		servers  = make([]*Server, n)
		problems = make([]error, n)
		wg       sync.WaitGroup
	)
	for i := range n {
		wg.Go(func() { servers[i], problems[i] = startServer(k, options...) })
	}
	wg.Wait()
	if err := errors.Join(problems...); err != nil {
		for _, s := range servers {
			if s != nil {
				s.end()
			}
		}
		return nil, err
	}
	return servers, nil
}
