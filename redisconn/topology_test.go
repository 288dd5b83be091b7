package redisconn

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// clusterNode returns the replies of a node. It knows the given primaries, which share the slots
// evenly.
func clusterNode(epoch, own int, primaries ...string) func(command []string) string {
	return func(command []string) string {
		switch strings.Join(command, " ") {
		case "cluster info":
			return bulk(fmt.Sprintf("cluster_state:ok\r\ncluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\n", epoch, own))
		case "cluster slots":
			var ranges []string
			size := slotCount / len(primaries)
			for i, addr := range primaries {
				host, port, _ := net.SplitHostPort(addr)
				ranges = append(ranges, array(fmt.Sprintf(":%d\r\n", i*size), fmt.Sprintf(":%d\r\n", (i+1)*size-1),
					array(bulk(host), ":"+port+"\r\n", bulk("id"+port))))
			}
			return array(ranges...)
		}
		return "-ERR unknown command\r\n"
	}
}

// TestNewestViewWins has one node with a view from before the failover, and one that has voted but
// has not heard the outcome.
func TestNewestViewWins(t *testing.T) {
	old := newFake(t, nil, func([]string) string { return ":1\r\n" })
	promoted := newFake(t, nil, func([]string) string { return ":2\r\n" })
	views := []*fake{
		newFake(t, nil, clusterNode(6, 3, old.addr)),
		newFake(t, nil, clusterNode(7, 7, promoted.addr)), // the view of the promoted replica
		newFake(t, nil, clusterNode(7, 2, old.addr)),
	}
	for range 5 {
		var addrs []string
		for _, f := range views {
			addrs = append(addrs, f.addr)
		}
		c := open(t, Options{Mode: Cluster, Addresses: addrs, Timeout: patience})
		until(t, "a load", func() bool { return len(c.table.Load().queues) > 0 })
		if call := do(t, c, count, "k", 1); call.Reply != int64(2) {
			t.Errorf("reply = %v, %v, want that of the promoted replica", call.Reply, call.Err)
		}
		c.Close()
	}
}

// TestHangingNodesDoNotDelayLoad has ten nodes that accept connections and never answer. The load waits
// for all of them at the same time. The test's bound allows for a busy machine.
func TestHangingNodesDoNotDelayLoad(t *testing.T) {
	const hanging = 10
	var addrs []string
	for range hanging {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		addrs = append(addrs, listener.Addr().String())
	}
	primary := newFake(t, nil, func([]string) string { return ":1\r\n" })
	addrs = append(addrs, newFake(t, nil, clusterNode(1, 1, primary.addr)).addr)
	c := open(t, Options{Mode: Cluster, Addresses: addrs})
	start := time.Now()
	until(t, "a load", func() bool { return len(c.table.Load().queues) > 0 })
	if took := time.Since(start); took > hanging*answerWithin*3/4 {
		t.Errorf("the load took %v, want %v", took, answerWithin)
	}
}

// TestSentinelsDisagree has Sentinels with a password: one that has not heard of the failover, and
// one that does not watch the master.
func TestSentinelsDisagree(t *testing.T) {
	old := newFake(t, nil, func([]string) string { return ":1\r\n" })
	promoted := newFake(t, nil, func([]string) string { return ":2\r\n" })
	sentinel := func(epoch, primary string) *fake {
		host, port, _ := net.SplitHostPort(primary)
		return newFake(t, nil, func(command []string) string {
			switch strings.Join(command, " ") {
			case "sentinel get-master-addr-by-name main":
				if primary == "" {
					return "*-1\r\n"
				}
				return array(bulk(host), bulk(port))
			case "sentinel master main":
				if primary == "" {
					return "-ERR No such master with that name\r\n"
				}
				return array(bulk("name"), bulk("main"), bulk("config-epoch"), bulk(epoch))
			}
			return "-ERR unknown command\r\n"
		})
	}
	a, b, blank := sentinel("4", old.addr), sentinel("5", promoted.addr), sentinel("", "")
	c := open(t, Options{
		Mode: Sentinel, Addresses: []string{a.addr, b.addr, blank.addr}, MasterName: "main",
		Password: "primary's", SentinelPassword: "sentinel's", Timeout: patience,
	})
	until(t, "a load", func() bool { return len(c.table.Load().queues) > 0 })
	if call := do(t, c, count, "k", 1); call.Reply != int64(2) {
		t.Errorf("reply = %v, %v, want that of the newest primary", call.Reply, call.Err)
	}
	for f, want := range map[*fake]string{a: "sentinel's", promoted: "primary's"} {
		f.mu.Lock()
		if !slices.ContainsFunc(f.seen, func(command []string) bool { return slices.Equal(command, []string{"auth", want}) }) {
			t.Errorf("%s was not given the password %q: %v", f.addr, want, f.seen)
		}
		f.mu.Unlock()
	}

	c = open(t, Options{Mode: Sentinel, Addresses: []string{blank.addr}, MasterName: "main", Timeout: patience})
	until(t, "the reason", func() bool {
		return strings.HasSuffix(do(t, c, count, "k", 1).Err.Error(), `the Sentinel watches no master called "main": use its name in SENTINEL MASTERS`)
	})
}

// TestLoadsWhileFailing has a client wait for the next load. While no primary is known or one fails, it
// waits for failingEvery only.
func TestLoadsWhileFailing(t *testing.T) {
	for name, test := range map[string]struct {
		primary, failing bool
		want             time.Duration
	}{
		"no primary": {false, false, failingEvery}, "a failing one": {true, true, failingEvery}, "a good one": {true, false, clusterEvery},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := New(Options{})
			defer c.Close()
			if c.topology.every = clusterEvery; test.primary {
				q := newTestQueue(t)
				c.table.Store(&table{queues: []*queue{q}})
				if test.failing {
					q.trip(errSilent)
				}
			}
			began := time.Now()
			c.topology.await(time.After(failingEvery))
			if took := time.Since(began); took != test.want {
				t.Errorf("%s: the pause is %v, want %v", name, took, test.want)
			}
		})
	}
}
