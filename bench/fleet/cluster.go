package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	redis "github.com/redis/go-redis/v9"

	"github.com/fleetlimit/fleetlimit/bench/report"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

const (
	host = "127.0.0.1"

	// patience is the longest time that a node may take to connect to a cluster.
	patience = 30 * time.Second
)

// A cluster is a Redis Cluster of three primaries with one replica each. A delay line can make it seem
// far away.
type cluster struct {
	*redistest.Cluster
	line *delayLine // nil if there is no delay
}

// startCluster starts a cluster. delay is the additional time that a request and its reply take
// together.
func startCluster(delay time.Duration) (c *cluster, err error) {
	servers, err := redistest.StartCluster()
	if err != nil {
		return nil, err
	}
	c = &cluster{Cluster: servers}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	if delay > 0 {
		if err := c.moveAway(delay / 2); err != nil {
			return c, fmt.Errorf("moving the cluster away: %w", err)
		}
	}
	return c, c.keepRoles()
}

// keepRoles keeps replicas from taking over when a server is slow on a busy machine.
func (c *cluster) keepRoles() error {
	for _, s := range c.Servers {
		if err := s.Client().ConfigSet(context.Background(), "cluster-node-timeout", "30000").Err(); err != nil {
			return err
		}
	}
	return nil
}

// moveAway has the servers announce the addresses of a delay line. It returns when all servers have
// done so. Replicas also reach their primaries over the delay line.
func (c *cluster) moveAway(delay time.Duration) error {
	c.line = newDelayLine(delay)
	addrs := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		var err error
		if addrs[i], err = c.line.listen(s.Addr); err != nil {
			return err
		}
	}
	return c.Announce(addrs)
}

// flush removes all keys.
func (c *cluster) flush() error {
	return c.Client().ForEachMaster(context.Background(), func(ctx context.Context, primary *redis.Client) error {
		return primary.FlushAll(ctx).Err()
	})
}

// roundTrip returns the median duration of 101 PINGs.
func (c *cluster) roundTrip() (time.Duration, error) {
	client := redis.NewClient(&redis.Options{Addr: c.Addrs[0]})
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

// stop ends all processes and connections of the cluster.
func (c *cluster) stop() {
	c.Close()
	if c.line != nil {
		c.line.close()
	}
}
