package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"

	redis "github.com/redis/go-redis/v9"
)

// A server is a redis-server process of a cluster.
type server struct {
	dir    string
	port   int
	bus    int // where the others of the cluster reach it
	public int // where clients do: its own port, or one of a delay line

	client *redis.Client // without the delay
	cmd    *exec.Cmd
}

// start starts the process.
func (s *server) start() error {
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return err
	}
	bus := strconv.Itoa(s.bus)
	s.cmd = exec.Command("redis-server", "--port", strconv.Itoa(s.port), "--bind", host, "--dir", s.dir,
		"--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0",
		"--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-announce-bus-port", bus,
		"--cluster-announce-ip", host, "--cluster-announce-port", strconv.Itoa(s.public),
		"--cluster-node-timeout", "2000") // a short one has them meet sooner; see settle
	s.cmd.SysProcAttr = childAttributes()
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("%w: install it, for instance with 'apt-get install redis-server'", err)
	}
	s.client = redis.NewClient(&redis.Options{Addr: address(s.port), MaxRetries: 50})
	return nil
}

// settle ends the haste of the start: a server that is slow on a busy machine is no reason for a failover.
func (s *server) settle(ctx context.Context) error {
	return s.client.ConfigSet(ctx, "cluster-node-timeout", "30000").Err()
}

// stop ends the process, if there is one.
func (s *server) stop() {
	if s.client != nil {
		_ = s.client.Close()
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// address returns where a port of the loopback interface is.
func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
