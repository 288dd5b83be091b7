package redisstore

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/test/redistest"
	"github.com/fleetlimit/fleetlimit/transport"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// topologies are the ways in which Redis is run.
var topologies = []struct {
	name    string
	options func(testing.TB) transport.Options
}{
	{"standalone", standalone},
	{"sentinel", func(t testing.TB) transport.Options {
		s := redistest.SharedSentinel(t)
		return transport.Options{Mode: transport.Sentinel, Addresses: s.Addrs, MasterName: s.MasterName}
	}},
	{"cluster", func(t testing.TB) transport.Options {
		return transport.Options{Mode: transport.Cluster, Addresses: redistest.SharedCluster(t).Addrs}
	}},
}

func standalone(t testing.TB) transport.Options {
	return transport.Options{Addresses: []string{redistest.Shared(t).Addr}}
}

// patience is how long tests wait for an answer: they are about answers, not about time.
const patience = 10 * time.Second

// connect returns a client of that Redis.
func connect(t testing.TB, o transport.Options) *transport.Client {
	t.Helper()
	o.Timeout = patience
	c := transport.New(o)
	t.Cleanup(c.Close)
	return c
}

var stores atomic.Int64

// withClock returns a store without counts that goes by the instants it is given.
func withClock(c *transport.Client) *Store {
	s := New(c, fmt.Sprint("test", stores.Add(1)))
	s.clock = func(now limiter.Instant) string { return strconv.FormatInt(int64(now), 10) }
	return s
}

// mustRule returns the rule that enforces l by a.
func mustRule(t testing.TB, id uint32, a limiter.Algorithm, l limiter.Limit) *limiter.Rule {
	t.Helper()
	r, err := limiter.NewRule(limiter.Rule{ID: id, Zone: "zone", Algorithm: a, Limit: l})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
