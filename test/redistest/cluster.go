package redistest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	redis "github.com/redis/go-redis/v9"
)

// A Cluster is three primaries and three replicas. A replica takes over some four seconds after its primary has gone or
// hangs: two until the others are sure, the rest for the vote. As Redis has it by default, the whole cluster refuses
// commands between the certainty and the vote; the option "cluster-require-full-coverage no" changes that.
type Cluster struct {
	Addrs   []string  // of all six
	Servers []*Server // in the same order: at the start, the primaries come first

	client *redis.ClusterClient

	mu sync.Mutex // guards what follows
	t  testing.TB // that has the cluster now
}

// NewCluster starts a cluster of this test's own. The options are further lines of each configuration file.
func NewCluster(t testing.TB, options ...string) *Cluster {
	t.Helper()
	c, err := startCluster(options...)
	return own(t, c, err)
}

// SharedCluster returns the cluster of this test binary, whole, and without keys and scripts.
func SharedCluster(t testing.TB) *Cluster {
	t.Helper()
	return sharedCluster.get(t, func() (*Cluster, error) { return startCluster() })
}

// Client returns a client of the cluster, the same one every time, which notices another primary within a moment. It is
// closed when the cluster ends.
func (c *Cluster) Client() *redis.ClusterClient { return c.client }

// Primary returns the server that serves the key's slot. When its primary is paused or killed, Primary waits until the
// replica has taken over.
func (c *Cluster) Primary(key string) *Server {
	t := c.tester()
	t.Helper()
	var found *Server
	err := until(func(ctx context.Context) (err error) {
		found, err = c.primary(ctx, key)
		return err
	})
	if err != nil {
		t.Fatalf("redistest: looking for the primary of key %q: %v", key, err)
	}
	return found
}

// Replica returns the server that replicates a primary, once it has the primary's data.
func (c *Cluster) Replica(of *Server) *Server {
	t := c.tester()
	t.Helper()
	var found *Server
	err := until(func(ctx context.Context) (err error) {
		found, err = c.replica(ctx, of)
		return err
	})
	if err != nil {
		t.Fatalf("redistest: looking for the replica of %s: %v", of.Addr, err)
	}
	return found
}

func (c *Cluster) tester() testing.TB {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

// primary asks each server that answers whether it serves the key. What others say of a node may be old, and so may be
// what a former primary says that has just come back: the highest epoch is right.
func (c *Cluster) primary(ctx context.Context, key string) (*Server, error) {
	var (
		best  *Server
		epoch int64
	)
	for _, s := range c.Servers {
		if !s.answers() {
			continue
		}
		slot, err := s.client.ClusterKeySlot(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		nodes, err := s.nodes(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			if n.is("myself") && n.serves(slot) && (best == nil || n.epoch > epoch) {
				best, epoch = s, n.epoch
			}
		}
	}
	if best == nil {
		return nil, errors.New("no server that answers is primary of its slot")
	}
	return best, nil
}

func (c *Cluster) replica(ctx context.Context, of *Server) (*Server, error) {
	for _, s := range c.Servers {
		if !s.answers() {
			continue
		}
		nodes, err := s.nodes(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			if n.is("myself") && n.primary == of.nodeID {
				return s, s.replicates(ctx)
			}
		}
	}
	return nil, errors.New("no server that answers replicates it")
}

// nodes asks the server of a cluster for its view of all.
func (s *Server) nodes(ctx context.Context) ([]node, error) {
	text, err := s.client.ClusterNodes(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Addr, err)
	}
	return parseNodes(text)
}

// replicates returns why the server is not a replica that has its primary's data.
func (s *Server) replicates(ctx context.Context) error {
	info, err := s.client.Info(ctx, "replication").Result()
	if err != nil {
		return fmt.Errorf("%s: %w", s.Addr, err)
	}
	if !strings.Contains(info, "master_link_status:up") {
		return fmt.Errorf("%s has no link to its primary", s.Addr)
	}
	return nil
}

func (c *Cluster) lend(t testing.TB) {
	c.mu.Lock()
	c.t = t
	c.mu.Unlock()
	for _, s := range c.Servers {
		s.lend(t)
	}
}

func (c *Cluster) clean() error {
	for _, s := range c.Servers {
		if err := s.revive(); err != nil {
			return err
		}
	}
	if err := until(c.whole); err != nil {
		return fmt.Errorf("redistest: the cluster is not whole: %w", err)
	}
	return c.flush()
}

// flush removes all keys, and all scripts of the replicas too.
func (c *Cluster) flush() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, s := range c.Servers {
		role, err := s.client.Do(ctx, "role").Slice()
		if err != nil {
			return err
		}
		if role[0] == "master" {
			err = s.flush()
		} else {
			err = s.client.ScriptFlush(ctx).Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) end() {
	if c.client != nil {
		_ = c.client.Close()
	}
	for _, s := range c.Servers {
		s.end()
	}
}
