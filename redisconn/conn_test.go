package redisconn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// conn returns a connection that is closed with the test.
func conn(t *testing.T, c *Client, key string) *Conn {
	t.Helper()
	conn := c.NewConn(key)
	t.Cleanup(conn.Close)
	return conn
}

func TestConnReplies(t *testing.T) {
	server := redistest.Shared(t)
	c := conn(t, open(t, Options{Addresses: []string{server.Addr}}), "k")
	long := strings.Repeat("x", 8<<20)
	for script, want := range map[string]string{
		`return 7`:                           "7",
		`return false`:                       "<nil>",
		`return {KEYS[1], 'b', {1}}`:         "[k b [1]]",
		`return #ARGV[1]`:                    fmt.Sprint(len(long)),
		`return string.rep('x', 8 * 2^20)`:   long,
		`return redis.error_reply('ERR no')`: "ERR no",
	} {
		reply, err := c.Eval(t.Context(), NewScript(script), long)
		got := fmt.Sprint(reply)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s = %.100s, want %.100s", script, got, want)
		}
	}
}

// TestConnAfterRestart has a server that closes the connection while it is not used.
func TestConnAfterRestart(t *testing.T) {
	server := redistest.NewServer(t)
	c := conn(t, open(t, Options{Addresses: []string{server.Addr}}), "k")
	for i := range 3 {
		if reply, err := c.Eval(t.Context(), count, "id"); err != nil || reply != int64(1) {
			t.Errorf("script %d = %v, %v, want 1 by a new server", i, reply, err)
		}
		server.Restart()
	}
}

func TestConnToHangingServer(t *testing.T) {
	server := redistest.NewServer(t)
	c := conn(t, open(t, Options{Addresses: []string{server.Addr}}), "k")
	if _, err := c.Eval(t.Context(), count, "before"); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := c.Eval(ctx, count, "during"); !errors.Is(err, ErrTimeout) {
		t.Errorf("a script to a hanging server = %v, want ErrTimeout", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v, want some 100 ms", took)
	}
	server.Resume()
	if reply, err := c.Eval(t.Context(), count, "after"); err != nil || reply != int64(1) {
		t.Errorf("a script after that = %v, %v, want 1", reply, err)
	}
}

// TestConnFollowsTable has another server become the primary, while the first still answers.
func TestConnFollowsTable(t *testing.T) {
	old := newFake(t, nil, func([]string) string { return ":1\r\n" })
	promoted := newFake(t, nil, func([]string) string { return ":2\r\n" })
	client := open(t, Options{Addresses: []string{old.addr}})
	c := conn(t, client, "k")
	for i, f := range []*fake{old, promoted} {
		_ = client.use(view{primaries: []slots{{0, slotCount - 1, f.addr}}})
		if reply, err := c.Eval(t.Context(), count); err != nil || reply != int64(1+i) {
			t.Errorf("a script = %v, %v, want %d", reply, err, 1+i)
		}
	}
}

// TestConnIsPatient has a server that refuses two attempts.
func TestConnIsPatient(t *testing.T) {
	for _, refusal := range []string{
		"-LOADING Redis is loading the dataset in memory\r\n",
		"-READONLY You can't write against a read only replica.\r\n",
		"-CLUSTERDOWN The cluster is down\r\n",
	} {
		var attempts atomic.Int64
		f := newClusterFake(t, func(command []string) string {
			if command[0] == "evalsha" && attempts.Add(1) > 2 {
				return "+done\r\n"
			}
			return refusal
		})
		c := conn(t, open(t, Options{Mode: Cluster, Addresses: []string{f.addr}}), "k")
		if reply, err := c.Eval(t.Context(), count); err != nil || reply != "done" {
			t.Errorf("a script after %q = %v, %v, want done", refusal, reply, err)
		}
	}
}

// TestConnHasPrimariesLookedUp has the server refuse a script because it is a replica. Then another
// server may be the primary.
func TestConnHasPrimariesLookedUp(t *testing.T) {
	refused := false
	f := newFake(t, nil, func([]string) string {
		if !refused {
			refused = true
			return "-READONLY You can't write against a read only replica.\r\n"
		}
		return ":1\r\n"
	})
	client := open(t, Options{Addresses: []string{f.addr}})
	if reply, err := conn(t, client, "k").Eval(t.Context(), count); err != nil || reply != int64(1) {
		t.Errorf("a script = %v, %v, want 1", reply, err)
	}
	if n := len(client.topology.woken); n != 1 {
		t.Errorf("%d lookups were asked for, want 1", n)
	}
}

// TestConnSendsOnce has a server that hangs up instead of a reply.
func TestConnSendsOnce(t *testing.T) {
	f := newFake(t, nil, func([]string) string { return hangUp })
	c := conn(t, open(t, Options{Addresses: []string{f.addr}}), "k")
	if reply, err := c.Eval(t.Context(), count); err == nil {
		t.Errorf("a script without a reply = %v, want an error", reply)
	}
	if got := strings.Join(f.commands(), " "); got != "evalsha" {
		t.Errorf("commands = %s, want evalsha", got)
	}
}

func TestConnFollowsPlannedFailover(t *testing.T) {
	cluster := redistest.SharedCluster(t)
	c := conn(t, open(t, Options{Mode: Cluster, Addresses: cluster.Addrs}), "k")
	if _, err := c.Eval(t.Context(), count, "id"); err != nil {
		t.Fatal(err)
	}
	replica := cluster.Replica(cluster.Primary("k"))
	cluster.Promote("k", replica)
	if reply, err := c.Eval(t.Context(), count, "id"); err != nil || reply != int64(2) {
		t.Errorf("a script after a failover = %v, %v, want 2", reply, err)
	}
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	server := redistest.NewServer(t)
	client := open(t, Options{Addresses: []string{server.Addr}})
	c := client.NewConn("k")
	received, ended := make(chan string, 10), make(chan error, 1)
	await := func(what, want string) {
		t.Helper()
		select {
		case message := <-received:
			if message != want {
				t.Fatalf("%s = %q, want %q", what, message, want)
			}
		case err := <-ended:
			t.Fatalf("Subscribe has ended before %s: %v", what, err)
		case <-time.After(patience):
			t.Fatalf("%s has not been received", what)
		}
	}
	subscribe := func() {
		go func() { ended <- c.Subscribe(t.Context(), "news", func(m string) { received <- m }) }()
		await("the subscription", "")
	}
	subscribe()
	publish := func(message string) {
		t.Helper()
		if err := server.Client().Publish(t.Context(), "news", message).Err(); err != nil {
			t.Fatal(err)
		}
		await("the message", message)
	}
	publish("1")
	<-time.After(quiet + quiet/2) // the connection is checked
	publish("\x00\r\n\xff")
	server.Restart()
	if err := <-ended; err == nil {
		t.Error("Subscribe after a restart = nil, want an error")
	}
	subscribe()
	c.Close()
	<-ended
	if _, err := c.Eval(t.Context(), count, "id"); !errors.Is(err, ErrClosed) {
		t.Errorf("a script after Close = %v, want ErrClosed", err)
	}
}
