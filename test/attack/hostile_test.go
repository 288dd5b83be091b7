package attack

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// The gateway keeps serving if an attacker controls the replies of Redis.
func TestHostileRedisReplies(t *testing.T) {
	var addresses atomic.Int64
	redirection := func(word string) func() string {
		return func() string {
			n := addresses.Add(1)
			return fmt.Sprintf("-%s 1 127.0.%d.%d:1\r\n", word, n/250, 1+n%250)
		}
	}
	for _, test := range []struct {
		name, topology string
		reply          func() string
	}{
		{"endless string", "", func() string { return "$9223372036854775807\r\n" }},
		{"endless array", "", func() string { return "*1000000000\r\n" }},
		{"endless arrays", "", func() string { return strings.Repeat("*65536\r\n", 100) }},
		{"MOVED", "", redirection("MOVED")},
		{"MOVED in a cluster", "cluster", redirection("MOVED")},
		{"ASK in a cluster", "cluster", redirection("ASK")},
	} {
		t.Run(test.name, func(t *testing.T) {
			addr := hostileRedis(t, test.reply)
			g := serveWith(t, onRedis("lease", test.topology, 50*time.Millisecond, addr), `rate_limit {
				zone key {
					key {http.request.header.X-Api-Key}
					limit 1000/1h
				}
			}`, hello)
			goroutines, memory := runtime.NumGoroutine(), heap()
			const connections, requests = 20, 50
			load := g.hammer(t, connections, requests, func(conn, n int) request {
				return get("/", field{"X-Api-Key", fmt.Sprint(conn, "-", n)})
			})
			if load.admitted+load.degraded != connections*requests {
				t.Errorf("%+v, want responses to all of %d requests, and none rejected", load, connections*requests)
			}
			if grown := runtime.NumGoroutine() - goroutines; grown > 300 {
				t.Errorf("new goroutines = %d, want at most 300", grown)
			}
			if grown := heap() - memory; grown > 64<<20 {
				t.Errorf("the heap has grown by %d MB, want at most 64", grown>>20)
			}
		})
	}
}

// heap returns the size of the heap of this process, in which the gateway runs.
func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys - m.HeapReleased)
}

// hostileRedis starts a server and returns its address. It lets clients log in, claims all slots,
// and responds to all other commands with reply.
func hostileRedis(t *testing.T, reply func() string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	addr := listener.Addr().String()
	bulk := func(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }
	known := map[string]string{
		"hello":         "-ERR unknown command\r\n",
		"ping":          "+PONG\r\n",
		"info":          bulk("run_id:1\r\n"),
		"cluster info":  bulk("cluster_state:ok\r\ncluster_current_epoch:1\r\ncluster_my_epoch:1\r\n"),
		"cluster slots": "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk("127.0.0.1") + ":" + redistest.Port(addr) + "\r\n",
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for commands := bufio.NewReader(conn); ; {
					words, err := readCommand(commands)
					if err != nil {
						return
					}
					text, ok := known[strings.ToLower(words[0])]
					if !ok && len(words) > 1 {
						text, ok = known[strings.ToLower(words[0]+" "+words[1])]
					}
					if !ok {
						text = reply()
					}
					if _, err := io.WriteString(conn, text); err != nil {
						return
					}
				}
			}()
		}
	}()
	return addr
}

// readCommand reads one command: an array of strings.
func readCommand(from *bufio.Reader) (words []string, err error) {
	var n int
	if _, err := fmt.Fscanf(from, "*%d\r\n", &n); err != nil {
		return nil, err
	}
	for range n {
		var size int
		if _, err := fmt.Fscanf(from, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		word := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(from, word); err != nil {
			return nil, err
		}
		words = append(words, string(word[:size]))
	}
	return words, nil
}
