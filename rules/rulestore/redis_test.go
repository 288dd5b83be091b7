package rulestore_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/redisconn"
	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

var prefixes atomic.Int64

// newRedis returns a store with a client of its own, as one node has it. The caller closes the
// store.
func newRedis(t testing.TB, o redisconn.Options, prefix string) *rulestore.Redis {
	client := redisconn.New(o)
	t.Cleanup(client.Close)
	return rulestore.NewRedis(client, prefix)
}

// onRedis returns a place for versions with a prefix of its own.
func onRedis(t *testing.T, o redisconn.Options) rulestoretest.Fixture {
	prefix := fmt.Sprintf("rl%d", prefixes.Add(1))
	return rulestoretest.Fixture{Open: func() rules.VersionStore { return newRedis(t, o, prefix) }, AddsOlder: true}
}

func TestRedis(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t)
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture {
		return onRedis(t, redisconn.Options{Addresses: []string{server.Addr}})
	})
}

func TestRedisCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t)
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture {
		return onRedis(t, redisconn.Options{Mode: redisconn.Cluster, Addresses: cluster.Addrs[1:3]})
	})
}

func TestRedisSentinel(t *testing.T) {
	t.Parallel()
	sentinel := redistest.NewSentinel(t)
	rulestoretest.Run(t, func(t *testing.T) rulestoretest.Fixture {
		return onRedis(t, redisconn.Options{
			Mode: redisconn.Sentinel, Addresses: sentinel.Addrs, MasterName: sentinel.MasterName,
		})
	})
}

// TestRedisThatPersists kills a Redis that syncs each write.
func TestRedisThatPersists(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t, "appendonly yes", "appendfsync always")
	rulestoretest.Crash(t, onRedis(t, redisconn.Options{Addresses: []string{server.Addr}}), func() {
		server.Kill()
		server.Restart()
	})
}

func TestRedisKeepsTheNewestVersions(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t)
	client := redisconn.New(redisconn.Options{Addresses: []string{server.Addr}})
	defer client.Close()
	wantKept(t, func() keeper { return rulestore.NewRedis(client, "rl") })
	fields, err := server.Client().HLen(t.Context(), "rl:{rules}:versions").Result()
	if err != nil || fields != 3 {
		t.Errorf("fields = %d, %v, want a version, its document and the newest number", fields, err)
	}
	keys, err := server.Client().Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 1 {
		t.Errorf("keys = %v, %v, want one", keys, err)
	}
}

// TestRedisStoresDocumentsOnce writes versions that have the document of the one before, also when
// Redis has lost it.
func TestRedisStoresDocumentsOnce(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t)
	o := redisconn.Options{Addresses: []string{server.Addr}}
	one, other := newRedis(t, o, "rl"), newRedis(t, o, "rl")
	defer one.Close()
	defer other.Close()
	document := rulestoretest.Version(1).Document
	write := func(store rules.VersionStore, n int64, d *rules.Document) {
		t.Helper()
		if err := store.Write(t.Context(), &rules.Version{Number: n, Document: d}, n-1); err != nil {
			t.Fatal(err)
		}
	}
	write(one, 1, document)
	write(one, 2, document)
	write(other, 3, document.Clone())
	if fields, err := server.Client().HLen(t.Context(), "rl:{rules}:versions").Result(); err != nil || fields != 5 {
		t.Errorf("fields = %d, %v, want 3 versions, one document and the newest number", fields, err)
	}
	first, err := one.Latest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := one.Latest(t.Context()); err != nil || second.Document != first.Document {
		t.Errorf("a document that is known was read again: %v", err)
	}
	if err := server.Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	write(one, 1, document)
	if v, err := newRedis(t, o, "rl").Latest(t.Context()); err != nil || v.Document.Emergency == nil {
		t.Errorf("the version written after a loss = %+v, %v", v, err)
	}
}

// TestRedisUser has a user with the rights that docs/operate/redis.md lists, on no other keys and
// channels.
func TestRedisUser(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t, "user fleet on >secret ~rl:* &rl:* -@all +evalsha +script|load +ping +info +time"+
		" +hget +hset +hdel +hexists +hkeys +hstrlen +publish +subscribe")
	o := redisconn.Options{Addresses: []string{server.Addr}, Username: "fleet", Password: "secret"}
	f := newFleet(t, o, rules.Options{})
	awaitSubscribers(t, server, fleetSize)
	if took := f.change(0); took > 5*time.Second {
		t.Errorf("the change took %v, want the time of an announcement", took)
	}
	if _, err := f.watchers[0].Store().History(t.Context(), 0, 10); err != nil {
		t.Error(err)
	}
}
