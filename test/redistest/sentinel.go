package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"

	redis "github.com/redis/go-redis/v9"
)

const (
	masterName = "main"
	sentinels  = 3
)

// A Sentinel is a primary and its replica, which three sentinels watch. The replica takes over some two seconds after
// the primary has gone or hangs.
type Sentinel struct {
	Addrs      []string // of the sentinels
	MasterName string
	Sentinels  []*Server // in the order of Addrs
	Primary    *Server   // at the start, or when the test was given what is shared
	Replica    *Server
}

// NewSentinel starts servers and sentinels of this test's own. The options are further lines of the configuration of
// the two servers.
func NewSentinel(t testing.TB, options ...string) *Sentinel {
	t.Helper()
	s, err := startSentinel(options...)
	return own(t, s, err)
}

// SharedSentinel returns the servers and sentinels of this test binary, all well, and without keys and scripts.
func SharedSentinel(t testing.TB) *Sentinel {
	t.Helper()
	return sharedSentinel.get(t, func() (*Sentinel, error) { return startSentinel() })
}

func (s *Sentinel) all() []*Server { return append([]*Server{s.Primary, s.Replica}, s.Sentinels...) }

func (s *Sentinel) lend(t testing.TB) {
	for _, server := range s.all() {
		server.lend(t)
	}
}

func (s *Sentinel) clean() error {
	for _, server := range s.all() {
		if err := server.revive(); err != nil {
			return err
		}
	}
	if err := until(s.well); err != nil {
		return fmt.Errorf("redistest: the sentinels are not content: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(s.Primary.flush(), s.Replica.client.ScriptFlush(ctx).Err())
}

func (s *Sentinel) end() {
	for _, server := range s.all() {
		if server != nil {
			server.end()
		}
	}
}

// startSentinel starts a primary, a replica of it, and when that has its data the sentinels.
func startSentinel(options ...string) (s *Sentinel, err error) {
	s = &Sentinel{MasterName: masterName}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	if s.Primary, err = startServer(alone, options...); err != nil {
		return s, err
	}
	_, port, _ := net.SplitHostPort(s.Primary.Addr)
	if s.Replica, err = startServer(alone, append([]string{"replicaof " + host + " " + port}, options...)...); err != nil {
		return s, err
	}
	if err := until(s.Replica.replicates); err != nil {
		return s, fmt.Errorf("redistest: a replica does not start: %w", err)
	}
	s.Sentinels, err = startServers(sentinels, sentinelNode,
		fmt.Sprintf("sentinel monitor %s %s %s %d", masterName, host, port, sentinels/2+1),
		"sentinel down-after-milliseconds "+masterName+" 1000",
		"sentinel failover-timeout "+masterName+" 4000",
	)
	if err != nil {
		return s, err
	}
	for _, server := range s.Sentinels {
		s.Addrs = append(s.Addrs, server.Addr)
	}
	if err := until(s.well); err != nil {
		return s, fmt.Errorf("redistest: the sentinels do not become content: %w", err)
	}
	return s, nil
}

// well returns why the sentinels are not of one mind, content with both servers and aware of each other. Otherwise it
// has put down who is primary.
func (s *Sentinel) well(ctx context.Context) error {
	var primary string
	for i, server := range s.Sentinels {
		addr, err := server.watches(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", server.Addr, err)
		}
		if i > 0 && addr != primary {
			return fmt.Errorf("one sentinel has %s as primary, and another %s", primary, addr)
		}
		primary = addr
	}
	if primary == s.Replica.Addr {
		s.Primary, s.Replica = s.Replica, s.Primary
	}
	err := s.Replica.replicates(ctx)
	if err != nil {
		// A former primary that is back still is one. The sentinels tell it better, but after some ten seconds.
		_, port, _ := net.SplitHostPort(s.Primary.Addr)
		err = errors.Join(err, s.Replica.client.ReplicaOf(ctx, host, port).Err())
	}
	return err
}

// watches returns the address of the primary that a sentinel watches, if all is well with it.
func (s *Server) watches(ctx context.Context) (primary string, err error) {
	master := redis.NewMapStringStringCmd(ctx, "sentinel", "master", masterName)
	if err := s.client.Process(ctx, master); err != nil {
		return "", err
	}
	m := master.Val()
	if m["flags"] != "master" || m["num-other-sentinels"] != strconv.Itoa(sentinels-1) {
		return "", fmt.Errorf("sees a primary that is %s, and %s other sentinels", m["flags"], m["num-other-sentinels"])
	}
	replicas := redis.NewMapStringStringSliceCmd(ctx, "sentinel", "replicas", masterName)
	if err := s.client.Process(ctx, replicas); err != nil {
		return "", err
	}
	if r := replicas.Val(); len(r) != 1 || r[0]["flags"] != "slave" {
		return "", fmt.Errorf("sees replicas that are not one and well: %v", r)
	}
	return net.JoinHostPort(m["ip"], m["port"]), nil
}
