package rulestore_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// durable are options of a Redis that loses nothing when it is killed.
var durable = []string{"appendonly yes", "appendfsync always"}

var prefixes atomic.Int64

// fixture returns a place of its own on a Redis.
func fixture(o redisconn.Options) rulestoretest.Fixture {
	prefix := fmt.Sprintf("rl%d", prefixes.Add(1))
	return rulestoretest.Fixture{Open: func() rules.Store { return rulestore.NewRedis(o, prefix) }}
}

func TestRedis(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t)
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture {
		return fixture(redisconn.Options{Addresses: []string{server.Addr}})
	})
}

func TestRedisCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t)
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture {
		return fixture(redisconn.Options{Mode: redisconn.Cluster, Addresses: cluster.Addrs[1:3]})
	})
}

func TestRedisSentinel(t *testing.T) {
	t.Parallel()
	sentinel := redistest.NewSentinel(t)
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture {
		return fixture(redisconn.Options{
			Mode: redisconn.Sentinel, Addresses: sentinel.Addrs, MasterName: sentinel.MasterName,
		})
	})
}
