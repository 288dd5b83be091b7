package redisconn

import (
	"strconv"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestParseServer(t *testing.T) {
	const info = "# Memory\r\nused_memory:1048576\r\nused_memory_rss:9\r\nmaxmemory:2097152\r\n# Stats\r\n" +
		"total_commands_processed:12\r\nevicted_keys:3\r\n# Replication\r\nrole:master\r\nconnected_slaves:2\r\n" +
		"slave0:ip=192.0.2.2,port=6379,state=online,offset=900,lag=0\r\n" +
		"slave1:ip=192.0.2.3,port=6379,state=online,offset=400,lag=1\r\nslave_repl_offset:5\r\nmaster_repl_offset:1000\r\n" +
		"# Keyspace\r\ndb0:keys=5,expires=1,avg_ttl=0\r\ndb3:keys=2,expires=0,avg_ttl=0\r\n"
	at := time.Now()
	want := Server{Memory: 1048576, MaxMemory: 2097152, Keys: 7, Commands: 12, Evicted: 3, Replicas: 2, Lag: 600, at: at}
	if got, ok := parseServer(info, at); !ok || got != want {
		t.Errorf("server = %+v, %v, want %+v", got, ok, want)
	}
	if got, ok := parseServer("role:master\r\nmaster_repl_offset:1000\r\n", at); ok {
		t.Errorf("without its memory, INFO is a server: %+v", got)
	}
}

// A primary says what it is with its first answers.
func TestServerOfPrimary(t *testing.T) {
	t.Parallel()
	s := redistest.SharedSentinel(t)
	if err := s.Primary.Client().Set(t.Context(), "there", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	c := open(t, Options{Mode: Sentinel, Addresses: s.Addrs, MasterName: s.MasterName})
	ready(t, c, "k")
	until(t, "what the primary says", func() bool { return c.Primaries()[0].Server != nil })
	got := c.Primaries()[0].Server // the primary was asked before the call, or after it
	if got.Memory < 100_000 || got.Commands == 0 || got.Keys != 1 && got.Keys != 2 || got.Replicas != 1 || got.Lag > 100_000 {
		t.Errorf("the primary says %+v, want one key or two, and a replica", got)
	}
}

// If the user may not ask for INFO, the client does not ask again, and serves calls as usual.
func TestServerMayNotBeAsked(t *testing.T) {
	t.Parallel()
	s := redistest.NewServer(t, "user limiter on >s3cret ~* +@all -info")
	connections := func() int64 {
		info := s.Client().Info(t.Context(), "stats").Val()
		n, _ := strconv.ParseInt(infoField(info, "total_connections_received"), 10, 64)
		return n
	}
	before := connections()
	c := open(t, Options{Addresses: []string{s.Addr}, Username: "limiter", Password: "s3cret", PoolSize: 1})
	for start := time.Now(); time.Since(start) < 4*identifyEvery; {
		ready(t, c, "k")
		<-time.After(10 * time.Millisecond)
	}
	log, err := s.Client().Do(t.Context(), "acl", "log").Slice()
	if err != nil || len(log) != 1 {
		t.Fatalf("ACL LOG = %v, %v, want one entry, of the question at login", log, err)
	}
	entry, logins := log[0].(map[any]any), connections()-before
	if asked, _ := entry["count"].(int64); entry["object"] != "info" || asked > logins {
		t.Errorf("Redis has refused %v, want nothing but the question at each of %d logins", entry, logins)
	}
	if p := c.Primaries()[0]; p.Server != nil {
		t.Errorf("primary = %+v, want nothing that it says about itself", p)
	}
}
