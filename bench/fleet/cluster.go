package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	redis "github.com/redis/go-redis/v9"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const (
	host = "127.0.0.1"

	// patience is how long a cluster may take to be ready, and a node to connect to it.
	patience = 30 * time.Second
)

// A cluster is a Redis Cluster of three primaries with a replica each, some distance away.
type cluster struct {
	*redistest.Cluster
	addrs []string   // where clients reach the servers: their own, or those of a delay line
	line  *delayLine // nil without a delay
}

// startCluster starts a cluster. The delay is that of a request and its reply together.
func startCluster(delay time.Duration) (c *cluster, err error) {
	servers, err := redistest.StartCluster()
	if err != nil {
		return nil, err
	}
	c = &cluster{Cluster: servers, addrs: servers.Addrs}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if delay > 0 {
		if err := c.moveAway(ctx, delay/2); err != nil {
			return c, fmt.Errorf("moving the cluster away: %w", err)
		}
	}
	return c, c.keepRoles(ctx)
}

// keepRoles prevents a failover when a server is slow on a busy machine.
func (c *cluster) keepRoles(ctx context.Context) error {
	for _, s := range c.Servers {
		if err := s.Client().ConfigSet(ctx, "cluster-node-timeout", "30000").Err(); err != nil {
			return err
		}
	}
	return nil
}

// moveAway has the servers announce the addresses of a delay line, and returns when all do.
func (c *cluster) moveAway(ctx context.Context, delay time.Duration) error {
	c.line = newDelayLine(delay)
	c.addrs = nil
	for _, s := range c.Servers {
		addr, err := c.line.listen(s.Addr)
		if err != nil {
			return err
		}
		c.addrs = append(c.addrs, addr)
		_, port, _ := net.SplitHostPort(addr)
		if err := s.Client().ConfigSet(ctx, "cluster-announce-port", port).Err(); err != nil {
			return err
		}
	}
	for {
		err := c.away(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// away returns an error while a server does not announce the delay line, or while a replica is not
// connected to its primary, which is behind the line too.
func (c *cluster) away(ctx context.Context) error {
	for _, s := range c.Servers {
		nodes, err := s.Client().ClusterNodes(ctx).Result()
		if err != nil {
			return err
		}
		for _, addr := range c.addrs {
			if !strings.Contains(nodes, addr+"@") {
				return fmt.Errorf("the server at %s does not see %s", s.Addr, addr)
			}
		}
		info, err := s.Client().Info(ctx, "replication").Result()
		if err != nil {
			return err
		}
		if strings.Contains(info, "master_link_status:down") {
			return fmt.Errorf("the server at %s has no link to its primary", s.Addr)
		}
	}
	return nil
}

// flush removes all keys.
func (c *cluster) flush() error {
	return c.Client().ForEachMaster(context.Background(), func(ctx context.Context, primary *redis.Client) error {
		return primary.FlushAll(ctx).Err()
	})
}

// roundTrip returns the median duration of a PING.
func (c *cluster) roundTrip() (time.Duration, error) {
	client := redis.NewClient(&redis.Options{Addr: c.addrs[0]})
	defer client.Close()
	var times []time.Duration
	for range 101 {
		begin := time.Now()
		if err := client.Ping(context.Background()).Err(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(begin))
	}
	return report.Quantile(0.5, slices.Sorted(slices.Values(times))), nil
}

// stop ends all processes and connections.
func (c *cluster) stop() {
	c.Close()
	if c.line != nil {
		c.line.close()
	}
}
