package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	redis "github.com/redis/go-redis/v9"
)

const (
	primaries = 3 // of a cluster; each has a replica
	host      = "127.0.0.1"

	// patience is how long a cluster may take to be ready, and a node to be connected with it.
	patience = 30 * time.Second
)

// A cluster is a Redis Cluster of this program's own: three primaries with a replica each, at some distance.
type cluster struct {
	addrs   []string // where clients reach the servers
	servers []*server
	client  *redis.ClusterClient
	line    *delayLine // nil when there is no delay
	dir     string
	timeout time.Duration // of the takes of its clients
}

// startCluster starts a cluster to which a request and its answer together take as much longer as delay says.
func startCluster(delay time.Duration) (c *cluster, err error) {
	c = &cluster{}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	if c.dir, err = os.MkdirTemp("", "bench-fleet"); err != nil {
		return c, err
	}
	if delay > 0 {
		c.line = newDelayLine(delay / 2)
	}
	ports, err := freePorts(6 * primaries)
	if err != nil {
		return c, err
	}
	for i := range 2 * primaries {
		s := &server{dir: filepath.Join(c.dir, fmt.Sprint(i)), port: ports[3*i], bus: ports[3*i+1], public: ports[3*i]}
		if c.line != nil {
			s.public = ports[3*i+2]
			if err := c.line.listen(s.public, s.port); err != nil {
				return c, err
			}
		}
		c.servers = append(c.servers, s)
		c.addrs = append(c.addrs, address(s.public))
		if err := s.start(); err != nil {
			return c, err
		}
	}
	if err := c.join(); err != nil {
		return c, fmt.Errorf("making a cluster: %w", err)
	}
	c.client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.addrs})
	return c, nil
}

// flush removes all keys.
func (c *cluster) flush() error {
	return c.client.ForEachMaster(context.Background(), func(ctx context.Context, primary *redis.Client) error {
		return primary.FlushAll(ctx).Err()
	})
}

// roundTrip returns how long a PING takes, as the median of some.
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
	return sortedQuantile(times, 0.5), nil
}

// stop ends all processes and connections.
func (c *cluster) stop() {
	if c.client != nil {
		_ = c.client.Close()
	}
	for _, s := range c.servers {
		s.stop()
	}
	if c.line != nil {
		c.line.close()
	}
	_ = os.RemoveAll(c.dir)
}

// freePorts returns ports of the loopback interface that nobody listens at.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // together, so that no port comes twice
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
