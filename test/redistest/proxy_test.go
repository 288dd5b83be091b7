package redistest

import (
	"context"
	"testing"
	"time"

	redis "github.com/redis/go-redis/v9"
)

// A proxy is slow for all of its clients, and cuts one of them.
func TestProxy(t *testing.T) {
	s := NewServer(t, "user a on >secret ~* &* +@all", "user b on >secret ~* &* +@all")
	p := NewProxy(t, s.Addr)
	client := func(user string) *redis.Client {
		c := redis.NewClient(&redis.Options{
			Addr: p.Addr, Username: user, Password: "secret", ReadTimeout: time.Minute,
			ContextTimeoutEnabled: true, MaxRetries: -1,
		})
		t.Cleanup(func() { _ = c.Close() })
		if err := c.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := client("a"), client("b")

	const latency = 50 * time.Millisecond
	p.Delay(latency)
	begin := time.Now()
	if err := a.Set(t.Context(), "k", "v", 0).Err(); err != nil || time.Since(begin) < latency {
		t.Errorf("SET took %v, error %v, want %v at least", time.Since(begin), err, latency)
	}
	p.Delay(0)

	p.Cut("a")
	answered := make(chan error, 1)
	go func() { answered <- a.Set(t.Context(), "k", "after", 0).Err() }()
	ctx, cancel := context.WithTimeout(t.Context(), latency)
	defer cancel()
	if err := client("b").Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	fresh := redis.NewClient(&redis.Options{
		Addr: p.Addr, Username: "a", Password: "secret", ContextTimeoutEnabled: true, MaxRetries: -1,
	})
	defer func() { _ = fresh.Close() }()
	if err := fresh.Ping(ctx).Err(); err == nil {
		t.Error("PING on a new connection that is cut: an answer, want none")
	}
	if got := b.Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("k = %q while its writer is cut, want v", got)
	}
	p.Mend()
	if err := <-answered; err != nil {
		t.Errorf("SET that was sent while cut: %v, want that it arrives after that", err)
	}
	if got := b.Get(t.Context(), "k").Val(); got != "after" {
		t.Errorf("k = %q, want after", got)
	}
}

// Clients reach a cluster through its proxies, even after a failover and a restart.
func TestClusterProxies(t *testing.T) {
	c := NewCluster(t)
	proxies := c.Proxies()
	const key = "k"
	primary := c.Primary(key)
	replica := c.Replica(primary)
	c.Promote(key, replica)
	primary.Restart()
	if got := c.Replica(replica); got != primary {
		t.Errorf("the replica is %s, want %s after its restart", got.Addr, primary.Addr)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs})
	defer func() { _ = client.Close() }()
	const latency = 50 * time.Millisecond
	for i, s := range c.Servers {
		if s == replica {
			proxies[i].Delay(latency)
		}
	}
	begin := time.Now()
	if err := client.Set(t.Context(), key, "v", 0).Err(); err != nil || time.Since(begin) < latency {
		t.Errorf("SET took %v, error %v, want %v at least: it goes through the proxy", time.Since(begin), err, latency)
	}
}
