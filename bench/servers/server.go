// Package servers starts the servers that benchmarks measure against.
package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	redis "github.com/redis/go-redis/v9"
)

// A Server is a redis-server process, and a client of it.
type Server struct {
	*redis.Client
	Addr string
	cmd  *exec.Cmd
	dir  string
}

// Start starts redis-server on a free port of the loopback interface.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: l.Addr().String()}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "bench-redis"); err != nil {
		return nil, err
	}
	s.cmd = exec.Command("redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--dir", s.dir)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: install it, for instance with 'apt-get install redis-server'", err)
	}
	s.Client = redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: 50})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s, s.Ping(ctx).Err()
}

// Stop ends the process.
func (s *Server) Stop() {
	_ = s.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}
