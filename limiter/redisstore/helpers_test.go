package redisstore

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// topologies are the ways to run Redis.
var topologies = []struct {
	name    string
	options func(testing.TB) redisconn.Options
}{
	{"standalone", standalone},
	{"sentinel", func(t testing.TB) redisconn.Options {
		s := redistest.SharedSentinel(t)
		return redisconn.Options{Mode: redisconn.Sentinel, Addresses: s.Addrs, MasterName: s.MasterName}
	}},
	{"cluster", func(t testing.TB) redisconn.Options {
		return redisconn.Options{Mode: redisconn.Cluster, Addresses: redistest.SharedCluster(t).Addrs}
	}},
}

func standalone(t testing.TB) redisconn.Options {
	return redisconn.Options{Addresses: []string{redistest.Shared(t).Addr}}
}

// patience is how long tests wait for an answer.
const patience = 10 * time.Second

// connect returns a client of the Redis that o describes.
func connect(t testing.TB, o redisconn.Options) *redisconn.Client {
	t.Helper()
	o.Timeout = patience
	c := redisconn.New(o)
	t.Cleanup(c.Close)
	return c
}

var stores atomic.Int64

// withClock returns a store without counts whose scripts use the instants of the takes.
func withClock(c *redisconn.Client) *Store {
	s := New(c, fmt.Sprint("test", stores.Add(1)))
	s.clock = func(now limiter.Instant) string { return strconv.FormatInt(int64(now), 10) }
	return s
}

// mustRule returns a rule with this limit and algorithm.
func mustRule(t testing.TB, id uint32, a limiter.Algorithm, l limiter.Limit) *limiter.Rule {
	t.Helper()
	r, err := limiter.NewRule(limiter.Rule{ID: id, Algorithm: a, Limit: l})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
