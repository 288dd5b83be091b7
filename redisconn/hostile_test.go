package redisconn

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// hostileReplies are what a compromised Redis may send instead of a reply.
var hostileReplies = []string{
	"$9223372036854775807\r\n",
	"$9223372036854775806\r\n",
	"$-9223372036854775808\r\n",
	"$999999999\r\n",
	"*1000000000\r\n",
	"*9223372036854775807\r\n",
	strings.Repeat("*65536\r\n", 1000),
	"%1000000000\r\n",
	"~1000000000\r\n",
	">1000000000\r\n",
	"|1000000000\r\n",
	"=9223372036854775807\r\n",
	"!9223372036854775807\r\n",
	"(" + strings.Repeat("9", 1<<20) + "\r\n",
	"+" + strings.Repeat("x", 4<<20) + "\r\n",
	":99999999999999999999\r\n",
	":\r\n",
	"\r\n",
	"\n",
	"-\r\n",
	"$-1\r\n$9223372036854775807\r\n",
	"*2\r\n-ERR no\r\n$9223372036854775807\r\n",
}

// TestHostileReplies sends each hostile reply as the reply to a call. The call fails, and the client
// continues.
func TestHostileReplies(t *testing.T) {
	tlsServer := httptest.NewTLSServer(http.NotFoundHandler())
	defer tlsServer.Close()
	for _, withTLS := range []bool{false, true} {
		var hostile atomic.Pointer[string]
		o := Options{Timeout: patience, PoolSize: 1, Breaker: staysClosed}
		var f *fake
		reply := func(command []string) string {
			if r := hostile.Load(); r != nil {
				return *r
			}
			return ":1\r\n"
		}
		if f = newFake(t, nil, reply); withTLS {
			f = newFake(t, tlsServer.TLS, reply)
			o.TLS = tlsServer.Client().Transport.(*http.Transport).TLSClientConfig
		}
		o.Addresses = []string{f.addr}
		c := open(t, o)
		ready(t, c, "k")
		before := heapInUse()
		for i := range hostileReplies {
			hostile.Store(&hostileReplies[i])
			if call := do(t, c, count, "k", 1); call.Err == nil && call.Reply != nil {
				t.Errorf("%.30q, with TLS %v: reply = %v, want an error", hostileReplies[i], withTLS, call.Reply)
			}
			hostile.Store(nil)
			if call := do(t, c, count, "k", 1); call.Err != nil {
				t.Errorf("after %.30q, with TLS %v: %v, want an answer over a new connection", hostileReplies[i], withTLS, call.Err)
			}
		}
		if grown := heapInUse() - before; grown > 32<<20 {
			t.Errorf("the heap has grown by %d MB, with TLS %v", grown>>20, withTLS)
		}
	}
}

// TestHostileLogin sends hostile replies before the first call.
func TestHostileLogin(t *testing.T) {
	for _, reply := range hostileReplies {
		for _, name := range []string{"hello", "ping", "info"} {
			o := Options{Addresses: []string{hostileTo(t, name, reply)}}
			call := do(t, open(t, o), count, "k", 1)
			if call.Err == nil && call.Reply != "fine" {
				t.Errorf("%.30q to %s: reply = %v, want an error or the answer", reply, name, call.Reply)
			}
		}
	}
}

// hostileTo starts a server that answers the commands called name with reply, and returns its address.
func hostileTo(t *testing.T, name, reply string) string {
	f := newFake(t, nil, func([]string) string { return "+fine\r\n" })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hostile = map[string]string{name: reply}
	return f.addr
}

// TestHostileTopology has a node of a cluster, and a Sentinel, send hostile replies.
func TestHostileTopology(t *testing.T) {
	replies := append([]string{
		bulk("cluster_current_epoch:99999999999999999999\r\ncluster_my_epoch:1\r\n"),
		array(array(":-5\r\n", ":5\r\n", array(bulk("127.0.0.1"), ":1\r\n"))),
		array(array(":0\r\n", ":16384\r\n", array(bulk("127.0.0.1"), ":1\r\n"))),
		array(array(":0\r\n", ":9223372036854775807\r\n", array(bulk("127.0.0.1"), ":1\r\n"))),
		array(array(":9\r\n", ":8\r\n", array(bulk("127.0.0.1"), ":1\r\n"))),
	}, hostileReplies...)
	for _, reply := range replies {
		for _, command := range []string{"cluster info", "cluster slots", "sentinel master main"} {
			f := newFake(t, nil, nil)
			good := clusterNode(1, 1, f.addr)
			f.mu.Lock()
			f.reply = func(words []string) string {
				if strings.Join(words, " ") == command {
					return reply
				}
				return good(words)
			}
			f.mu.Unlock()
			o := Options{Mode: Cluster, Addresses: []string{f.addr}}
			if strings.HasPrefix(command, "sentinel") {
				o.Mode, o.MasterName = Sentinel, "main"
			}
			c := open(t, o)
			until(t, "an error with a reason", func() bool {
				call := do(t, c, count, "k", 1)
				return call.Err != nil && c.reason.Load() != nil
			})
			c.Close()
		}
	}
}

// TestNoRedirectionOutsideCluster checks that MOVED and ASK are not followed.
func TestNoRedirectionOutsideCluster(t *testing.T) {
	other := newFake(t, nil, func([]string) string { return ":1\r\n" })
	for _, word := range []string{"MOVED", "ASK"} {
		f := newFake(t, nil, func([]string) string { return "-" + word + " 1 " + other.addr + "\r\n" })
		c := open(t, Options{Addresses: []string{f.addr}, Timeout: patience})
		if call := do(t, c, count, "k", 1); !errors.Is(call.Err, errNoCluster) || !strings.Contains(call.Err.Error(), word+" 1 ") {
			t.Errorf("%s: error = %v, want errNoCluster", word, call.Err)
		}
	}
	if got := other.commands(); len(got) > 0 {
		t.Errorf("the other server was sent %v, want nothing", got)
	}
}

// TestRedirectionsToManyServers has a cluster redirect each call to another address, where no
// server listens.
func TestRedirectionsToManyServers(t *testing.T) {
	n := 0
	f := newClusterFake(t, func([]string) string {
		n++
		return fmt.Sprintf("-MOVED 1 127.0.%d.%d:1\r\n", n/250, 1+n%250)
	})
	c := open(t, Options{Mode: Cluster, Addresses: []string{f.addr}, Timeout: patience})
	until(t, "a load", func() bool { return len(c.table.Load().queues) > 0 })
	before, refused := runtime.NumGoroutine(), 0
	for range 500 {
		if call := do(t, c, count, "k", 1); errors.Is(call.Err, errStrangers) {
			refused++
		}
	}
	if want := 500 - maxStrangers; refused != want {
		t.Errorf("%d of 500 redirections were refused, want %d", refused, want)
	}
	if grown := runtime.NumGoroutine() - before; grown > 4*maxStrangers {
		t.Errorf("%d goroutines more after 500 redirections, want at most %d", grown, 4*maxStrangers)
	}
}

// TestManyPrimaries has nodes name more and more primaries. Each makes goroutines, and the race
// detector takes minutes for thousands of goroutines that begin together, so the primaries are few.
func TestManyPrimaries(t *testing.T) {
	viewOf := func(from, n int) (v view) {
		for i := range n {
			v.primaries = append(v.primaries, slots{i, i, fmt.Sprintf("127.1.%d.%d:1", (from+i)/250, 1+(from+i)%250)})
		}
		return v
	}
	c := open(t, Options{Mode: Cluster, Addresses: []string{"127.0.0.1:1"}, PoolSize: 1})
	const most = 50
	c.mu.Lock()
	c.maxQueues = 2 * most
	c.mu.Unlock()
	for i, want := range []error{nil, nil, errQueues} {
		if err := c.use(viewOf(i*most, most)); err != want {
			t.Errorf("set %d of %d other primaries: error = %v, want %v", i+1, most, err, want)
		}
	}
	c.mu.Lock()
	for _, q := range c.queues {
		q.mu.Lock()
		q.used = time.Now().Add(-queueIdle - time.Second)
		q.mu.Unlock()
	}
	c.mu.Unlock()
	if err := c.use(viewOf(2*most, most)); err != nil {
		t.Errorf("after the first are idle: error = %v", err)
	}
	c.mu.Lock()
	if n := len(c.queues); n != 2*most {
		t.Errorf("%d queues, want those of this set and of the one before", n)
	}
	c.mu.Unlock()
}

// FuzzHostileServer has a server answer all commands with the input.
func FuzzHostileServer(f *testing.F) {
	for _, reply := range hostileReplies {
		f.Add([]byte(reply))
	}
	f.Add([]byte(array(array(":0\r\n", ":16383\r\n", array(bulk("127.0.0.1"), ":1\r\n", bulk("id"), array(bulk("a"), bulk("b")))))))
	f.Add([]byte("*2\r\n:1\r\n*3\r\n+a\r\n-ERR b\r\n$1\r\nc\r\n"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go answerAll(listener, reply)
		before := runtime.NumGoroutine()
		for _, o := range []Options{{}, {Mode: Cluster}, {Mode: Sentinel, MasterName: "main"}} {
			o.Addresses, o.Timeout, o.PoolSize = []string{listener.Addr().String()}, 5*time.Millisecond, 1
			c := New(o)
			do(t, c, count, "k", 1)
			c.Close()
		}
		_ = listener.Close()
		if grown := runtime.NumGoroutine() - before; grown > 20 {
			t.Errorf("%d goroutines still run", grown)
		}
	})
}

// answerAll answers each read on each connection with reply, until listener is closed.
func answerAll(listener net.Listener, reply []byte) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			for buf := make([]byte, 4096); ; {
				if _, err := conn.Read(buf); err != nil {
					return
				}
				if _, err := conn.Write(reply); err != nil {
					return
				}
			}
		}()
	}
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys - m.HeapReleased)
}
