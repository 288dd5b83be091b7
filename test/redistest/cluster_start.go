package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	redis "github.com/redis/go-redis/v9"
)

const primaries = 3 // of a cluster; each has one replica

// startCluster starts six servers and makes them a cluster.
func startCluster(options ...string) (c *Cluster, err error) {
	c = &Cluster{}
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	if c.Servers, err = startServers(2*primaries, clusterNode, options...); err != nil {
		return c, err
	}
	for _, s := range c.Servers {
		c.Addrs = append(c.Addrs, s.Addr)
	}
	o := clientOptions(c.Addrs[0], options)
	c.client = redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs, Password: o.Password, ContextTimeoutEnabled: true, DialerRetries: o.DialerRetries,
		DisableIdentity: true, MaintNotificationsConfig: o.MaintNotificationsConfig,
		ClusterStateReloadInterval: 100 * time.Millisecond, // instead of a minute
	})
	if err := c.join(); err != nil {
		return c, fmt.Errorf("redistest: making a cluster: %w", err)
	}
	if err := until(c.whole); err != nil {
		return c, fmt.Errorf("redistest: the cluster does not become whole: %w", err)
	}
	return c, nil
}

// join makes the servers, which know nothing of each other, one cluster.
func (c *Cluster) join() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var problems []error
	for i, s := range c.Servers {
		id, err := s.client.ClusterMyID(ctx).Result()
		s.nodeID = id
		problems = append(problems, err, s.client.Do(ctx, "cluster", "set-config-epoch", i+1).Err())
		if i < primaries {
			problems = append(problems, s.client.ClusterAddSlotsRange(ctx, i*slots/primaries, (i+1)*slots/primaries-1).Err())
		}
		// Everyone meets everyone, instead of one all and the others each other by gossip, which takes seconds.
		for _, other := range c.Servers[:i] {
			_, port, _ := net.SplitHostPort(other.Addr)
			problems = append(problems, s.client.Do(ctx, "cluster", "meet", host, port, other.ports[1]).Err())
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	for i, s := range c.Servers[primaries:] {
		err := until(func(ctx context.Context) error { // has heard of its primary
			return s.client.ClusterReplicate(ctx, c.Servers[i].nodeID).Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// whole returns why the cluster is not one in which everyone sees three primaries with a replica each, all well.
func (c *Cluster) whole(ctx context.Context) error {
	for _, s := range c.Servers {
		info, err := s.client.ClusterInfo(ctx).Result()
		if err != nil {
			return fmt.Errorf("%s: %w", s.Addr, err)
		}
		if !strings.Contains(info, "cluster_state:ok") {
			return fmt.Errorf("%s says that the cluster is not ok", s.Addr)
		}
		nodes, err := s.nodes(ctx)
		if err != nil {
			return err
		}
		if err := wholeView(nodes); err != nil {
			return fmt.Errorf("%s sees %w", s.Addr, err)
		}
		for _, n := range nodes {
			if !n.is("myself") || n.is("master") {
				continue
			}
			if err := s.replicates(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// wholeView returns what is wrong with what one server sees.
func wholeView(nodes []node) error {
	replicas := map[string]int{} // by the id of their primary
	for _, n := range nodes {
		if !n.sound() {
			return fmt.Errorf("node %.8s as %v", n.id, n.flags)
		}
		if n.is("slave") {
			replicas[n.primary]++
		}
	}
	serving := slices.DeleteFunc(slices.Clone(nodes), func(n node) bool { return len(n.ranges) == 0 })
	if len(serving) != primaries {
		return fmt.Errorf("%d primaries, want %d", len(serving), primaries)
	}
	for _, n := range serving {
		if replicas[n.id] != 1 {
			return fmt.Errorf("%d replicas of node %.8s, want 1", replicas[n.id], n.id)
		}
	}
	return nil
}
