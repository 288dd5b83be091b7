package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	redis "github.com/redis/go-redis/v9"
)

const (
	masterName = "main"
	sentinels  = 3
)

// A Sentinel is a primary and its replica, watched by three Sentinels. The replica takes over about
// two seconds after the primary dies or hangs.
type Sentinel struct {
	Addrs      []string // the addresses of the Sentinels
	MasterName string
	Sentinels  []*Server // in the order of Addrs
	Primary    *Server   // the primary when the test began; only AwaitHealthy changes it after a failover
	Replica    *Server
}

// NewSentinel starts servers and Sentinels for one test. The options are added to the configuration
// of the two servers.
func NewSentinel(t testing.TB, options ...string) *Sentinel {
	t.Helper()
	return own(t, startSentinel, options)
}

// SharedSentinel returns the servers and Sentinels of this test binary, healthy, and without keys
// and scripts.
func SharedSentinel(t testing.TB) *Sentinel {
	t.Helper()
	return sharedSentinel.get(t)
}

func startSentinel(options ...string) (s *Sentinel, err error) {
	s = &Sentinel{MasterName: masterName}
	defer func() {
		if err != nil {
			s.Close()
			err = fmt.Errorf("redistest: starting Sentinels: %w", err)
		}
	}()
	if s.Primary, err = startServer(standalone, options...); err != nil {
		return s, err
	}
	port := Port(s.Primary.Addr)
	options = append([]string{"replicaof " + host + " " + port}, options...)
	if s.Replica, err = startServer(standalone, options...); err != nil {
		return s, err
	}
	if err := until(s.Replica.synced); err != nil {
		return s, err
	}
	s.Sentinels, err = startGroup(sentinels, sentinelNode,
		fmt.Sprintf("sentinel monitor %s %s %s %d", masterName, host, port, sentinels/2+1),
		"sentinel down-after-milliseconds "+masterName+" 1000",
		"sentinel failover-timeout "+masterName+" 4000",
	)
	for _, server := range s.Sentinels {
		s.Addrs = append(s.Addrs, server.Addr)
	}
	if err != nil {
		return s, err
	}
	return s, until(s.healthy)
}

// healthy returns an error unless the Sentinels agree, see nothing down and know each other. It
// sets Primary and Replica.
func (s *Sentinel) healthy(ctx context.Context) error {
	var primary string
	for i, server := range s.Sentinels {
		addr, err := server.watches(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", server.Addr, err)
		}
		if i > 0 && addr != primary {
			return fmt.Errorf("one Sentinel sees the primary %s, and another %s", primary, addr)
		}
		primary = addr
	}
	if primary == s.Replica.Addr {
		s.Primary, s.Replica = s.Replica, s.Primary
	}
	info, err := s.Replica.client.InfoMap(ctx, "replication").Result()
	if err == nil && info["Replication"]["role"] == "master" {
		// A former primary is back. The Sentinels make it a replica, but only after ten seconds.
		err = errors.Join(errors.New("both servers are primary"), s.Replica.client.ReplicaOf(ctx, host, Port(s.Primary.Addr)).Err())
	}
	return errors.Join(err, s.Replica.synced(ctx))
}

// watches returns the address of the primary that a Sentinel watches, if it sees no failure.
func (s *Server) watches(ctx context.Context) (primary string, err error) {
	master := redis.NewMapStringStringCmd(ctx, "sentinel", "master", masterName)
	replicas := redis.NewMapStringStringSliceCmd(ctx, "sentinel", "replicas", masterName)
	if err := errors.Join(s.client.Process(ctx, master), s.client.Process(ctx, replicas)); err != nil {
		return "", err
	}
	m, r := master.Val(), replicas.Val()
	others := fmt.Sprint(sentinels - 1)
	if m["flags"] != "master" || m["num-other-sentinels"] != others || len(r) != 1 || r[0]["flags"] != "slave" {
		return "", fmt.Errorf("it sees the primary %v with the replicas %v", m, r)
	}
	return net.JoinHostPort(m["ip"], m["port"]), nil
}

// AwaitHealthy waits until the Sentinels agree on a primary that has a replica, and see nothing
// down. It sets Primary and Replica.
func (s *Sentinel) AwaitHealthy() {
	s.Primary.t.Helper()
	if err := until(s.healthy); err != nil {
		s.Primary.t.Fatalf("redistest: the Sentinels do not recover: %v", err)
	}
}

func (s *Sentinel) all() group { return append(group{s.Primary, s.Replica}, s.Sentinels...) }

func (s *Sentinel) attach(t testing.TB) { s.all().attach(t) }

func (s *Sentinel) reset() error {
	if err := s.all().each((*Server).revive); err != nil {
		return err
	}
	if err := until(s.healthy); err != nil {
		return fmt.Errorf("redistest: the Sentinels do not recover: %w", err)
	}
	return group{s.Primary, s.Replica}.each((*Server).flush)
}

// Close ends the processes and removes their files.
func (s *Sentinel) Close() { s.all().close() }
