package redisconn

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	redis "github.com/redis/go-redis/v9"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// tellRun is a script that returns the run that it was sent to.
var tellRun = redis.NewScript(`return ARGV[1]`)

// runOf returns the run that answers a call, once one does.
func runOf(t *testing.T, c *Client, key string) uint64 {
	t.Helper()
	var call *Call
	until(t, "an answer to a call", func() bool {
		call = do(t, c, tellRun, key, Incarnation)
		return call.Err == nil
	})
	if call.Incarnation == 0 || call.Reply != strconv.FormatUint(call.Incarnation, 10) {
		t.Fatalf("the script was told the run %v and the caller %d, want the same", call.Reply, call.Incarnation)
	}
	return call.Incarnation
}

func TestParseRun(t *testing.T) {
	const one = "# Server\r\nredis_version:7.0.15\r\nrun_id:aa\r\ntcp_port:1\r\n\r\n" +
		"# Replication\r\nrole:master\r\nmaster_replid:bb\r\nmaster_replid2:00\r\n"
	for _, test := range []struct {
		name, info string
		same       bool // as one
	}{
		{"itself", one, true},
		{"other things", strings.Replace(one, "tcp_port:1", "tcp_port:2", 1), true},
		{"another process", strings.Replace(one, "run_id:aa", "run_id:ab", 1), false},
		{"promoted again", strings.Replace(one, "replid:bb", "replid:bc", 1), false},
	} {
		if got, want := parseIncarnation(test.info), parseIncarnation(one); got.id == want.id != test.same {
			t.Errorf("%s: run = %d, of the first %d; the same: want %t", test.name, got.id, want.id, test.same)
		}
	}
	for _, info := range []string{"", "# Server\r\nrun_id_of:aa\r\n", "run_id:\r\n"} {
		if got := parseIncarnation(info); got != nil {
			t.Errorf("parseRun(%q) = %d, want none", info, got.id)
		}
	}
}

// TestRunFits has the smallest and the largest hash.
func TestRunFits(t *testing.T) {
	for _, test := range []struct{ hash, want uint64 }{{0, 1}, {1<<64 - 1, 1<<32 - 1}} {
		if got := newIncarnation(test.hash); got.id != test.want || string(got.text) != strconv.FormatUint(test.want, 10) {
			t.Errorf("newRun(%d) = %d, %q, want %d", test.hash, got.id, got.text, test.want)
		}
	}
}

// TestRunOfOneServer survives that the server closes the connections, and another client; it ends with a restart.
func TestRunOfOneServer(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Timeout: patience})
	first := runOf(t, c, "k")
	if err := s.Client().ClientKillByFilter(t.Context(), "TYPE", "normal").Err(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if got := runOf(t, c, "k"); got != first {
			t.Fatalf("after a reconnect: run = %d, want %d", got, first)
		}
	}
	if got := runOf(t, open(t, Options{Addresses: []string{s.Addr}}), "k"); got != first {
		t.Errorf("another client has run %d, want %d", got, first)
	}
	s.Kill()
	s.Restart()
	if got := runOf(t, c, "k"); got == first {
		t.Errorf("after a restart: run = %d, the same", got)
	}
}

func TestRunOfRedisErrors(t *testing.T) {
	c := open(t, Options{Addresses: []string{redistest.Shared(t).Addr}})
	want := runOf(t, c, "k")
	for _, source := range []string{`return redis.error_reply('NO such thing')`, `return false`} {
		if call := do(t, c, redis.NewScript(source), "k"); call.Incarnation != want {
			t.Errorf("%s: run = %d, want %d", source, call.Incarnation, want)
		}
	}
}

// TestRunEndsWithAFailover also has the old primary be promoted again: it has the same process, and may lack what it had
// not told its successor before.
func TestRunEndsWithAFailover(t *testing.T) {
	cluster := redistest.NewCluster(t)
	c := open(t, Options{Mode: Cluster, Addresses: cluster.Addrs})
	const key = "failover"
	primary := cluster.Primary(key)
	replica := cluster.Replica(primary)
	runs := []uint64{runOf(t, c, key)}
	for _, promoted := range []*redistest.Server{replica, primary} {
		until(t, "a failover", func() bool {
			_ = promoted.Client().ClusterFailover(t.Context()).Err() // refused while it is not yet a replica that is up to date
			return cluster.Primary(key) == promoted
		})
		var run uint64
		until(t, "an answer of the promoted", func() bool {
			run = runOf(t, c, key)
			return run != runs[len(runs)-1]
		})
		runs = append(runs, run)
	}
	if runs[2] == runs[0] {
		t.Errorf("runs = %d: the first primary has the same one after a failover there and back", runs)
	}
}

func TestRunEndsWithAFailoverBySentinel(t *testing.T) {
	s := redistest.NewSentinel(t)
	c := open(t, Options{Mode: Sentinel, Addresses: s.Addrs, MasterName: s.MasterName})
	first := runOf(t, c, "k")
	s.Primary.Kill()
	if got := runOf(t, c, "k"); got == first {
		t.Errorf("after a failover: run = %d, the same", got)
	}
}

// TestRunIsReplacedAnew has a call be sent on to another server, which loads the script first.
func TestRunIsReplacedAnew(t *testing.T) {
	for _, word := range []string{"MOVED", "ASK"} {
		loaded := false
		other := newFake(t, nil, func(command []string) string {
			switch {
			case command[0] == "script":
				loaded = true
				return bulk(tellRun.Hash())
			case !loaded:
				return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
			}
			return ":1\r\n"
		})
		f := newClusterFake(t, func([]string) string { return "-" + word + " 1 " + other.addr + "\r\n" })
		c := open(t, Options{Mode: Cluster, Addresses: []string{f.addr}, Timeout: patience})
		call := do(t, c, tellRun, "k", "before", Incarnation, Incarnation)
		here, there := parseIncarnation("run_id:"+f.addr), parseIncarnation("run_id:"+other.addr)
		if call.Err != nil || call.Incarnation != there.id {
			t.Errorf("%s: answered by run %d, %v, want %d", word, call.Incarnation, call.Err, there.id)
		}
		first := []string{"before", string(here.text), string(here.text)}
		if got, want := sentArgs(f), [][]string{first}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the first was sent %q, want %q", word, got, want)
		}
		second := []string{"before", string(there.text), string(there.text)}
		if got, want := sentArgs(other), [][]string{second, second}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the other was sent %q, want %q", word, got, want)
		}
	}
}

// sentArgs returns the arguments of the calls that f has seen, each with one key.
func sentArgs(f *fake) (args [][]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, command := range f.seen {
		if command[0] == "evalsha" {
			args = append(args, command[4:])
		}
	}
	return args
}

// TestRunOfAServerThatDoesNotSay is unknown, over every connection.
func TestRunOfAServerThatDoesNotSay(t *testing.T) {
	s := redistest.NewServer(t, "user limiter on >s3cret ~* +@all -info")
	c := open(t, Options{Addresses: []string{s.Addr}, Username: "limiter", Password: "s3cret", PoolSize: 1, Timeout: patience})
	for _, connection := range []string{"first", "second"} {
		var call *Call
		until(t, "an answer to a call", func() bool {
			call = do(t, c, tellRun, "k", Incarnation)
			return call.Err == nil
		})
		if call.Incarnation != 0 || call.Reply != "0" {
			t.Errorf("over the %s connection: the script was told the run %v and the caller %d, want 0", connection, call.Reply, call.Incarnation)
		}
		if err := s.Client().ClientKillByFilter(t.Context(), "USER", "limiter").Err(); err != nil {
			t.Fatal(err)
		}
	}
}
