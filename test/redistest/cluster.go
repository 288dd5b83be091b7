package redistest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	redis "github.com/redis/go-redis/v9"
)

const (
	primaries = 3     // in a cluster, with one replica each
	slots     = 16384 // in a cluster
)

// A Cluster has three primaries and three replicas. A replica takes over about four seconds after its primary
// dies or hangs: two seconds pass until the others are sure, and two more for the vote. Meanwhile, Redis
// refuses all commands, unless the option "cluster-require-full-coverage no" is set.
type Cluster struct {
	Addrs   []string  // the addresses of all six servers
	Servers []*Server // in the same order; the primaries come first at the start

	client *redis.ClusterClient
	t      testing.TB // the test that has the cluster
}

// NewCluster starts a cluster for one test. The options are added to each configuration file.
func NewCluster(t testing.TB, options ...string) *Cluster {
	t.Helper()
	return own(t, StartCluster, options)
}

// SharedCluster returns the cluster of this test binary. It is healthy, without keys and scripts.
func SharedCluster(t testing.TB) *Cluster {
	t.Helper()
	return sharedCluster.get(t)
}

// StartCluster starts a cluster for a program that is not a test. The program must call Close at
// the end, and must not call methods that report to a test.
func StartCluster(options ...string) (*Cluster, error) {
	servers, err := startGroup(2*primaries, clusterNode, options...)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Servers: servers}
	for _, s := range servers {
		c.Addrs = append(c.Addrs, s.Addr)
	}
	o := servers[0].client.Options()
	c.client = redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs, Password: o.Password, ContextTimeoutEnabled: true, DialerRetries: o.DialerRetries,
		DisableIdentity: true, MaintNotificationsConfig: o.MaintNotificationsConfig,
		ClusterStateReloadInterval: 100 * time.Millisecond, // the default is a minute
	})
	if err = c.join(); err == nil {
		err = until(c.healthy)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("redistest: making a cluster: %w", err)
	}
	return c, nil
}

// join makes a cluster of separate servers.
func (c *Cluster) join() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var errs []error
	for i, s := range c.Servers {
		id, err := s.client.ClusterMyID(ctx).Result()
		s.nodeID = id
		errs = append(errs, err, s.client.Do(ctx, "cluster", "set-config-epoch", i+1).Err())
		if i < primaries {
			errs = append(errs, s.client.ClusterAddSlotsRange(ctx, i*slots/primaries, (i+1)*slots/primaries-1).Err())
		}
		for _, other := range c.Servers[:i] { // all pairs, because gossip takes seconds
			errs = append(errs, s.client.Do(ctx, "cluster", "meet", host, Port(other.Addr), other.bus).Err())
		}
	}
	for i, s := range c.Servers[primaries:] {
		errs = append(errs, until(func(ctx context.Context) error { // until s has heard of its primary
			return s.client.ClusterReplicate(ctx, c.Servers[i].nodeID).Err()
		}))
	}
	return errors.Join(errs...)
}

// healthy returns an error unless all servers see the same three primaries, each with a replica
// that has its data.
func (c *Cluster) healthy(ctx context.Context) error {
	var agreed map[*Server]*Server
	return group(c.Servers).each(func(s *Server) error {
		info, err := s.client.ClusterInfo(ctx).Result()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Addr, err)
		}
		shards, err := s.client.ClusterShards(ctx).Result()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Addr, err)
		}
		replicas := map[*Server]*Server{} // by their primary
		for _, shard := range shards {
			primary, replica := c.roles(shard)
			if primary != nil && replica != nil {
				replicas[primary] = replica
			}
		}
		if agreed == nil {
			agreed = replicas
		}
		switch {
		case !strings.Contains(info, "cluster_state:ok"), !strings.Contains(info, "cluster_slots_pfail:0"):
			return fmt.Errorf("%s sees a failure", s.Addr)
		case len(shards) != primaries || len(replicas) != primaries:
			return fmt.Errorf("%s sees %d shards, %d of them with a replica, want %d",
				s.Addr, len(shards), len(replicas), primaries)
		case !maps.Equal(replicas, agreed):
			return fmt.Errorf("%s and %s see different primaries", c.Addrs[0], s.Addr)
		}
		return s.synced(ctx)
	})
}

// roles returns the primary and the replica of a shard. Each is nil if none works, or if there are two of
// them because a former primary is back.
func (c *Cluster) roles(shard redis.ClusterShard) (primary, replica *Server) {
	only := func(role string) (found *Server) {
		for _, n := range shard.Nodes {
			if n.Role != role || strings.HasPrefix(n.Health, "fail") {
				continue
			}
			if found != nil {
				return nil
			}
			i := slices.IndexFunc(c.Servers, func(s *Server) bool { return s.nodeID == n.ID })
			found = c.Servers[i]
		}
		return found
	}
	return only("master"), only("replica")
}

// Client returns the client of the cluster, which is the same each time. It soon finds a new primary, and is
// closed with the cluster.
func (c *Cluster) Client() *redis.ClusterClient { return c.client }

// Primary returns the server that serves the key's slot. When that server is paused or killed,
// Primary waits until the replica has taken over.
func (c *Cluster) Primary(key string) *Server {
	c.t.Helper()
	return c.find("the primary of key "+key, func(ctx context.Context) (*Server, error) {
		return c.primary(ctx, key)
	})
}

// Replica returns the server that replicates a primary, once it has the primary's data.
func (c *Cluster) Replica(of *Server) *Server {
	c.t.Helper()
	return c.find("the replica of "+of.Addr, func(ctx context.Context) (*Server, error) {
		return c.replica(ctx, of)
	})
}

// Promote has a replica take the place of its primary, and waits until it has. Both go on running. A replica
// refuses while it lacks data of its primary, and gives up when it loses its link to the primary. Promote
// then asks it again.
func (c *Cluster) Promote(key string, replica *Server) {
	c.t.Helper()
	var asked time.Time
	Eventually(c.t, "the promotion of "+replica.Addr, func() bool {
		if time.Since(asked) > 3*time.Second && replica.Client().ClusterFailover(c.t.Context()).Err() == nil {
			asked = time.Now()
		}
		return c.Primary(key) == replica
	})
}

func (c *Cluster) find(what string, look func(ctx context.Context) (*Server, error)) (found *Server) {
	c.t.Helper()
	err := until(func(ctx context.Context) (err error) {
		found, err = look(ctx)
		return err
	})
	if err != nil {
		c.t.Fatalf("redistest: looking for %s: %v", what, err)
	}
	return found
}

// primary returns the primary of the key if all servers that answer agree on it. They disagree while some
// have not heard of a failover, or of the return of a former primary.
func (c *Cluster) primary(ctx context.Context, key string) (found *Server, err error) {
	for _, s := range c.Servers {
		if !s.answers() {
			continue
		}
		slot, err := s.client.ClusterKeySlot(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		shards, err := s.client.ClusterShards(ctx).Result()
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(shards, func(shard redis.ClusterShard) bool {
			return slices.ContainsFunc(shard.Slots, func(r redis.SlotRange) bool { return r.Start <= slot && slot <= r.End })
		})
		if i < 0 {
			return nil, fmt.Errorf("%s sees no primary of slot %d", s.Addr, slot)
		}
		primary, _ := c.roles(shards[i])
		if found == nil {
			found = primary
		}
		if primary == nil || primary != found || !primary.answers() {
			return nil, errors.New("the servers do not agree on one that answers")
		}
	}
	if found == nil {
		return nil, errors.New("no server answers")
	}
	return found, nil
}

// replica returns the replica that a primary sees.
func (c *Cluster) replica(ctx context.Context, of *Server) (*Server, error) {
	shards, err := of.client.ClusterShards(ctx).Result()
	if err != nil {
		return nil, err
	}
	for _, shard := range shards {
		if primary, replica := c.roles(shard); primary == of && replica != nil && replica.answers() {
			return replica, replica.synced(ctx)
		}
	}
	return nil, errors.New("it has no replica that answers")
}

// AwaitHealthy waits until all servers see the same three primaries, each with a replica that has
// its data.
func (c *Cluster) AwaitHealthy() {
	c.t.Helper()
	if err := until(c.healthy); err != nil {
		c.t.Fatalf("redistest: the cluster does not recover: %v", err)
	}
}

// Proxies puts a proxy before each server, in the order of Servers. See Announce.
func (c *Cluster) Proxies() []*Proxy {
	c.t.Helper()
	proxies, addrs := make([]*Proxy, len(c.Servers)), make([]string, len(c.Servers))
	for i, s := range c.Servers {
		proxies[i] = NewProxy(c.t, s.Addr)
		addrs[i] = proxies[i].Addr
	}
	if err := c.Announce(addrs); err != nil {
		c.t.Fatalf("redistest: putting proxies before a cluster: %v", err)
	}
	return proxies
}

// Announce has the servers announce other loopback addresses, in the order of Servers, and returns when all
// servers know the addresses. Clients then reach the servers there, and Addrs has the new addresses.
func (c *Cluster) Announce(addrs []string) error {
	c.Addrs = addrs
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i, s := range c.Servers {
		err := s.client.ConfigSet(ctx, "cluster-announce-port", Port(addrs[i])).Err()
		if err = errors.Join(err, s.client.ConfigRewrite(ctx).Err()); err != nil { // so that it survives a restart
			return err
		}
	}
	return until(func(ctx context.Context) error {
		return errors.Join(c.healthy(ctx), group(c.Servers).each(func(s *Server) error {
			nodes, err := s.client.ClusterNodes(ctx).Result()
			for _, addr := range addrs {
				if err == nil && !strings.Contains(nodes, " "+addr+"@") {
					err = fmt.Errorf("%s does not see %s", s.Addr, addr)
				}
			}
			return err
		}))
	})
}

// MoveSlot moves a slot with its keys from one primary to another. The keys move one by one, and
// moved is called after each, so that there are instants in which only some have moved.
func (c *Cluster) MoveSlot(slot int, from, to *Server, moved func()) {
	c.t.Helper()
	ctx := c.t.Context()
	do := func(s *Server, args ...any) {
		c.t.Helper()
		if err := s.client.Do(ctx, args...).Err(); err != nil {
			c.t.Fatalf("redistest: %v at %s: %v", args, s.Addr, err)
		}
	}
	do(to, "cluster", "setslot", slot, "importing", from.nodeID)
	do(from, "cluster", "setslot", slot, "migrating", to.nodeID)
	for {
		keys, err := from.client.ClusterGetKeysInSlot(ctx, slot, 1).Result()
		if err != nil {
			c.t.Fatal(err)
		}
		if len(keys) == 0 {
			break
		}
		do(from, "migrate", host, Port(to.Addr), keys[0], 0, 5000)
		moved()
	}
	do(to, "cluster", "setslot", slot, "node", to.nodeID)
	do(from, "cluster", "setslot", slot, "node", to.nodeID)
}

func (c *Cluster) attach(t testing.TB) {
	c.t = t
	group(c.Servers).attach(t)
}

func (c *Cluster) reset() error {
	if err := c.Revive(); err != nil {
		return err
	}
	return group(c.Servers).each((*Server).flush)
}

// Revive resumes or restarts the servers that were paused or killed, and returns when the cluster
// is healthy.
func (c *Cluster) Revive() error {
	if err := group(c.Servers).each((*Server).revive); err != nil {
		return err
	}
	if err := until(c.healthy); err != nil {
		return fmt.Errorf("redistest: the cluster does not recover: %w", err)
	}
	return nil
}

// Close ends the processes and removes their files.
func (c *Cluster) Close() {
	_ = c.client.Close()
	group(c.Servers).close()
}
