package redisconn

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// echo is a script that returns its argument.
var echo = NewScript(`return ARGV[1]`)

// parseIncarnation reads the sections server and replication of INFO.
func parseIncarnation(info string) incarnation {
	return incarnationOfProcess(infoField(info, "run_id"), info)
}

// incarnationOf returns the incarnation that answers a call, as soon as one does.
func incarnationOf(t *testing.T, c *Client, key string) uint64 {
	t.Helper()
	var call *Call
	until(t, "an answer to a call", func() bool {
		call = do(t, c, echo, key, Incarnation{})
		return call.Err == nil
	})
	if call.Incarnation == 0 || call.Reply != strconv.FormatUint(call.Incarnation, 10) {
		t.Fatalf("the script got the incarnation %v and the caller %d, want the same", call.Reply, call.Incarnation)
	}
	return call.Incarnation
}

func TestParseIncarnation(t *testing.T) {
	const one = "# Server\r\nredis_version:7.0.15\r\nrun_id:aa\r\ntcp_port:1\r\n\r\n" +
		"# Replication\r\nrole:master\r\nmaster_replid:bb\r\nmaster_replid2:00\r\n"
	for _, test := range []struct {
		name, info string
		same       bool // whether the incarnation is that of one
	}{
		{"itself", one, true},
		{"other things", strings.Replace(one, "tcp_port:1", "tcp_port:2", 1), true},
		{"another process", strings.Replace(one, "run_id:aa", "run_id:ab", 1), false},
		{"promoted again", strings.Replace(one, "replid:bb", "replid:bc", 1), false},
	} {
		if got, want := parseIncarnation(test.info), parseIncarnation(one); got == want != test.same {
			t.Errorf("%s: incarnation = %d, of the first %d; the same: want %t", test.name, got, want, test.same)
		}
	}
	for _, info := range []string{"", "# Server\r\nrun_id_of:aa\r\n", "run_id:\r\n"} {
		if got := parseIncarnation(info); got != 0 {
			t.Errorf("parseIncarnation(%q) = %d, want 0", info, got)
		}
	}
}

// TestIncarnationRange checks the incarnations of the smallest and the largest hash.
func TestIncarnationRange(t *testing.T) {
	for _, test := range []struct {
		hash uint64
		want incarnation
	}{{0, 1}, {1<<64 - 1, 1<<32 - 1}} {
		if got := newIncarnation(test.hash); got != test.want {
			t.Errorf("newIncarnation(%d) = %d, want %d", test.hash, got, test.want)
		}
	}
}

// TestIncarnationOfOneServer checks that an incarnation survives a reconnect, is the same for another
// client, and ends with a restart.
func TestIncarnationOfOneServer(t *testing.T) {
	s := redistest.NewServer(t)
	c := open(t, Options{Addresses: []string{s.Addr}, Timeout: patience})
	first := incarnationOf(t, c, "k")
	if err := s.Client().ClientKillByFilter(t.Context(), "TYPE", "normal").Err(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if got := incarnationOf(t, c, "k"); got != first {
			t.Fatalf("after a reconnect: incarnation = %d, want %d", got, first)
		}
	}
	if got := incarnationOf(t, open(t, Options{Addresses: []string{s.Addr}}), "k"); got != first {
		t.Errorf("another client has incarnation %d, want %d", got, first)
	}
	s.Kill()
	s.Restart()
	if got := incarnationOf(t, c, "k"); got == first {
		t.Errorf("after a restart: incarnation = %d, want another", got)
	}
}

// TestIncarnationInDoubt has a reply tell that the server is not the primary. What the server has said
// about itself before does not count any more, and the server is asked again.
func TestIncarnationInDoubt(t *testing.T) {
	q, now := newTestQueue(t), time.Now()
	w := newTestWorker(q)
	w.link.process = "process"
	q.identity = identity{process: "process", incarnation: 7, at: now, asked: now}
	if got := w.server(); got != 7 || w.question(now) != nil {
		t.Errorf("incarnation = %d, want 7 without a question", got)
	}
	q.roleDoubts.Add(1)
	if got := w.server(); got != 0 || w.question(now) == nil {
		t.Errorf("in doubt: incarnation = %d, want 0 and a question", got)
	}
}

func TestIncarnationOfErrors(t *testing.T) {
	c := open(t, Options{Addresses: []string{redistest.Shared(t).Addr}})
	want := incarnationOf(t, c, "k")
	for _, source := range []string{`return redis.error_reply('NO such thing')`, `return false`} {
		if call := do(t, c, NewScript(source), "k"); call.Incarnation != want {
			t.Errorf("%s: incarnation = %d, want %d", source, call.Incarnation, want)
		}
	}
}

// TestIncarnationEndsWithFailover promotes the replica, and then the old primary again. The old primary
// is still the same process, but may lack writes that it had not replicated.
func TestIncarnationEndsWithFailover(t *testing.T) {
	t.Parallel()
	cluster := redistest.NewCluster(t)
	c := open(t, Options{Mode: Cluster, Addresses: cluster.Addrs})
	const key = "failover"
	primary := cluster.Primary(key)
	replica := cluster.Replica(primary)
	seen := []uint64{incarnationOf(t, c, key)}
	for _, promoted := range []*redistest.Server{replica, primary} {
		cluster.Promote(key, promoted)
		var id uint64
		until(t, "an answer of the promoted replica", func() bool {
			id = incarnationOf(t, c, key)
			return id != seen[len(seen)-1]
		})
		seen = append(seen, id)
	}
	if seen[2] == seen[0] {
		t.Errorf("incarnations = %d: the first primary has the same one after a failover and back", seen)
	}
}

func TestIncarnationEndsWithFailoverBySentinel(t *testing.T) {
	t.Parallel()
	s := redistest.NewSentinel(t)
	c := open(t, Options{Mode: Sentinel, Addresses: s.Addrs, MasterName: s.MasterName})
	first := incarnationOf(t, c, "k")
	s.Primary.Kill()
	if got := incarnationOf(t, c, "k"); got == first {
		t.Errorf("after a failover: incarnation = %d, want another", got)
	}
}

// TestIncarnationOfRedirectedCall redirects a call to another server, which does not know its script.
// Each time the call is sent, Incarnation{} stands for the server that it is sent to.
func TestIncarnationOfRedirectedCall(t *testing.T) {
	for _, word := range []string{"MOVED", "ASK"} {
		replies := []string{"-" + noSuchScript + "\r\n", ":1\r\n"}
		other := newFake(t, nil, func([]string) string {
			reply := replies[0]
			replies = replies[1:]
			return reply
		})
		f := newClusterFake(t, func([]string) string { return "-" + word + " 1 " + other.addr + "\r\n" })
		c := open(t, Options{Mode: Cluster, Addresses: []string{f.addr}, Timeout: patience})
		call := do(t, c, echo, "k", "before", Incarnation{}, Incarnation{})
		here, there := parseIncarnation("run_id:"+f.addr), parseIncarnation("run_id:"+other.addr)
		if call.Err != nil || call.Incarnation != uint64(there) {
			t.Errorf("%s: answered by incarnation %d, %v, want %d", word, call.Incarnation, call.Err, there)
		}
		first := []string{"before", fmt.Sprint(here), fmt.Sprint(here)}
		if got, want := sentArgs(f), [][]string{first}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the first server was sent %q, want %q", word, got, want)
		}
		second := []string{"before", fmt.Sprint(there), fmt.Sprint(there)}
		if got, want := sentArgs(other), [][]string{second, second}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the other server was sent %q, want %q", word, got, want)
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

// TestIncarnationWithoutInfo checks that the incarnation is unknown over every connection if the user
// may not ask for INFO.
func TestIncarnationWithoutInfo(t *testing.T) {
	s := redistest.NewServer(t, "user limiter on >s3cret ~* +@all -info")
	c := open(t, Options{Addresses: []string{s.Addr}, Username: "limiter", Password: "s3cret", PoolSize: 1, Timeout: patience})
	for _, connection := range []string{"first", "second"} {
		var call *Call
		until(t, "an answer to a call", func() bool {
			call = do(t, c, echo, "k", Incarnation{})
			return call.Err == nil
		})
		if call.Incarnation != 0 || call.Reply != "0" {
			t.Errorf("over the %s connection: the script got the incarnation %v and the caller %d, want 0", connection, call.Reply, call.Incarnation)
		}
		if err := s.Client().ClientKillByFilter(t.Context(), "USER", "limiter").Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIncarnationIsAskedWithTheCall has a call come when the server was not asked for its incarnation
// lately. The call does not wait for the answer: it carries no incarnation, and the next call does.
func TestIncarnationIsAskedWithTheCall(t *testing.T) {
	p := redistest.NewProxy(t, redistest.Shared(t).Addr)
	c := open(t, Options{Addresses: []string{p.Addr}, Timeout: patience})
	want := incarnationOf(t, c, "k")
	const latency = 200 * time.Millisecond
	p.Delay(latency)
	q := c.table.Load().queues[0]
	until(t, "a call that finds no incarnation", func() bool { // a probe may ask before the call
		q.mu.Lock()
		q.identity.at = q.identity.at.Add(-trustFor)
		q.mu.Unlock()
		began := time.Now()
		call := do(t, c, echo, "k", Incarnation{})
		if took := time.Since(began); call.Err != nil || took > latency*3/2 {
			t.Fatalf("the call took %v, %v, want one round trip of %v", took, call.Err, latency)
		}
		return call.Reply == "0" && call.Incarnation == 0
	})
	if call := do(t, c, echo, "k", Incarnation{}); call.Incarnation != want {
		t.Errorf("incarnation of the next call = %d, want %d", call.Incarnation, want)
	}
}

// TestIncarnationAfterIdleTime has a client make no call for longer than trustFor. Probes ask for the
// incarnation meanwhile.
func TestIncarnationAfterIdleTime(t *testing.T) {
	c := open(t, Options{Addresses: []string{redistest.Shared(t).Addr}, Timeout: patience})
	want := incarnationOf(t, c, "k")
	q := c.table.Load().queues[0]
	q.mu.Lock()
	begin := q.identity.at
	q.mu.Unlock()
	until(t, "the time after which an incarnation is not trusted", func() bool { return time.Since(begin) > 2*trustFor })
	if call := do(t, c, echo, "k", Incarnation{}); call.Incarnation != want {
		t.Errorf("incarnation after %v without a call = %d, want %d", time.Since(begin), call.Incarnation, want)
	}
}
