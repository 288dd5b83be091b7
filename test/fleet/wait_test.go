package fleet

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

var (
	waitFor     = flag.Duration("wait.for", 2*time.Second, "for how long TestWait sends requests")
	waitWaiters = flag.Int("wait.waiters", 400, "how many requests wait in TestWaiters")
)

// inMemory is a global option without Redis.
const inMemory = "defaults {\n\theaders all\n}"

// TestWait sends 120 requests a second to a limit of 100, on one node in memory and on two nodes that share a
// Redis. The requests that wait begin one after the other, each in a slot of the bucket.
func TestWait(t *testing.T) {
	for _, test := range []struct {
		name  string
		nodes int
		redis bool
	}{{"in memory", 1, false}, {"in Redis", 2, true}} {
		t.Run(test.name, func(t *testing.T) {
			var (
				mu    sync.Mutex
				began []time.Time
			)
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				began = append(began, time.Now())
				_, _ = io.WriteString(w, "done")
			}))
			defer upstream.Close()
			options := inMemory
			if test.redis {
				options = nodetest.InRedis(redistest.NewServer(t).Addr, "timeout 1s")
			}
			nodes := nodetest.StartAll(t, test.nodes, options, `
	rate_limit {
		zone queue {
			key {header.X-User}
			limit 100/1s burst 1
			wait 500ms
		}
	}
	route {
		reverse_proxy `+upstream.Listener.Addr().String()+`
	}`)
			var longest time.Duration
			statuses, wg := make(map[int]int), sync.WaitGroup{}
			ticker := time.NewTicker(time.Second / 120)
			defer ticker.Stop()
			for i := 0; i < int(waitFor.Seconds()*120); i++ {
				<-ticker.C
				wg.Go(func() {
					sent := time.Now()
					status, _, err := nodes[i%len(nodes)].Get("/", "X-User: alice")
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if statuses[status]++; status == 200 {
						longest = max(longest, time.Since(sent))
					}
				})
			}
			wg.Wait()
			slots := waitFor.Seconds() * 100
			checkSlots(t, began)
			t.Logf("%d of %.0f slots are used, %v, the longest request took %v", len(began), slots, statuses, longest)
			if float64(len(began)) < 0.95*slots || longest > 700*time.Millisecond || statuses[200]+statuses[429] < len(began) {
				t.Errorf("%d requests of %v were admitted, the longest after %v, want %.0f, 500ms", len(began), statuses, longest, slots)
			}
			queued := 0.0
			for _, n := range nodes {
				queued += n.Metric(`caddy_rate_limit_decisions_total{outcome="queued",zone="queue"}`)
			}
			if queued < float64(len(began))/2 {
				t.Errorf("queued = %v of %d, want most", queued, len(began))
			}
		})
	}
}

// checkSlots checks that at most 100 requests began in a second. It logs how long after its slot each request
// began, as the upstream has seen it.
func checkSlots(t *testing.T, began []time.Time) {
	t.Helper()
	slices.SortFunc(began, time.Time.Compare)
	var off []time.Duration
	for i, at := range began {
		off = append(off, at.Sub(began[0])-time.Duration(i)*10*time.Millisecond)
		if i >= 100 && at.Sub(began[i-100]) < 700*time.Millisecond {
			t.Errorf("101 requests began within %v, want a second", at.Sub(began[i-100]))
		}
	}
	slices.Sort(off)
	t.Logf("after its slot, a request begins by %v at the median, %v at 98 %%, %v at most",
		off[len(off)/2], off[len(off)*98/100], off[len(off)-1])
}

// TestWaiters has many requests wait, reloads the configuration, and has half of the clients leave. The
// requests of the other clients get their turn.
func TestWaiters(t *testing.T) {
	t.Parallel()
	node := nodetest.Start(t, inMemory, waitersSite("first"))
	resident := func() int { return residentMB(t, node) }
	before := resident()
	conns := make([]net.Conn, *waitWaiters)
	var dials sync.WaitGroup
	for worker := range 20 {
		dials.Go(func() {
			for i := worker; i < len(conns); i += 20 {
				conn, err := net.Dial("tcp", node.Addr)
				if err != nil {
					t.Error(err)
					return
				}
				conns[i] = conn
				// Each key has 250 requests, in two zones.
				_, _ = fmt.Fprintf(conn, "GET /%d HTTP/1.1\r\nHost: a\r\nX-User: %d\r\nConnection: close\r\n\r\n", i%2, i/250)
			}
		})
	}
	dials.Wait()
	if t.Failed() {
		return
	}
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	const waiting = `caddy_rate_limit_waiting`
	both := func() float64 { return node.Metric(waiting+`{zone="a"}`) + node.Metric(waiting+`{zone="b"}`) }
	node.Await("all to wait", func() bool { return both() >= 0.8*float64(len(conns)) })
	t.Logf("%v requests wait; the node has %d MB, and had %d", both(), resident(), before)
	node.Reload(inMemory, waitersSite("second"))
	for _, conn := range conns[:len(conns)/2] {
		_ = conn.Close()
	}
	left := time.Now()
	node.Await("half of them to leave", func() bool { return both() <= 0.5*float64(len(conns)) })
	t.Logf("%v after their clients, half of them are gone: %v wait", time.Since(left).Round(time.Millisecond), both())
	answered := 0
	for i, conn := range conns {
		if i < len(conns)/2 || i%250 >= 10 {
			continue // the client has left, or its request has its turn much later
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if answer, _ := io.ReadAll(conn); strings.HasPrefix(string(answer), "HTTP/1.1 200") {
			answered++
		} else {
			t.Fatalf("answer %d = %q, want 200", answered, answer)
		}
	}
}

func waitersSite(configuration string) string {
	zone := func(name, path string) string {
		return fmt.Sprintf("zone %s {\nmatch {\npath %s\n}\nkey {header.X-User}\nlimit 3/1s burst 1\nwait 1m\n}\n", name, path)
	}
	return "header X-Configuration " + configuration + "\nrate_limit {\n" + zone("a", "/0") + zone("b", "/1") + "}\n"
}

// residentMB returns the resident memory of a node in MB.
func residentMB(t *testing.T, n *nodetest.Node) (mb int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if kb := 0; strings.HasPrefix(line, "VmRSS:") {
			_, _ = fmt.Sscanf(line, "VmRSS: %d kB", &kb)
			return kb / 1000
		}
	}
	return 0
}
