package main

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

// A server is a redis-server process.
type server struct {
	*redis.Client
	addr string
	cmd  *exec.Cmd
	dir  string
}

// startServer starts redis-server on a free port of the loopback interface.
func startServer() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{addr: l.Addr().String()}
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
	s.Client = redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: 50})
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return s, s.Ping(ctx).Err()
}

// stop ends the process.
func (s *server) stop() {
	_ = s.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}
