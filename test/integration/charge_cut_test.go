package integration

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var cutStreams = flag.Int("streams", 500, "how many streams TestCutStreams cuts")

// TestCutStreams cuts streams of 40 events at a random byte. Each request is charged its reservation, or a
// token for three bytes of what the client has got. No reservation stays open, and no goroutine stays behind.
func TestCutStreams(t *testing.T) {
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 40 {
			usage := "null"
			if i == 39 {
				usage = `{"total_tokens": 1}`
			}
			if _, err := fmt.Fprintf(w, "data: {\"choices\": [{\"delta\": {\"content\": \"word\"}}], \"usage\": %s}\n\n", usage); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			if i == 38 && r.URL.Path != "/whole" {
				<-r.Context().Done()
				return
			}
		}
	})
	g := serve(t, fmt.Sprintf(`
		rate_limit {
			zone z {
				key all
				limit 1000000000/24h
				charge usage reserve 10
			}
		}
		reverse_proxy %s {
			flush_interval -1
		}`, addr))
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for worker := range 20 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(worker)))
			for range *cutStreams / 20 {
				conn, err := net.Dial("tcp", g.addr)
				if err != nil {
					t.Error(err)
					return
				}
				_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
				_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
				_, _ = io.CopyN(io.Discard, conn, 1+rng.Int64N(2500))
				_ = conn.Close()
			}
		})
	}
	wg.Wait()
	charged, outcome := g.charges()
	if n := *cutStreams / 20 * 20; charged < float64(10*n) || charged > float64(39*len("word")/3*n) || outcome != fmt.Sprint("unknown ", n) {
		t.Errorf("%d streams were charged %v, %s, want 10 to 52 each, unknown", n, charged, outcome)
	}
	for deadline := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before+20; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before the streams", runtime.NumGoroutine(), before)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// TestChargeOverHTTP2 charges by trailers and streams of an upstream that speaks HTTP/2 without
// TLS.
func TestChargeOverHTTP2(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(model))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	for _, tc := range []struct {
		charge, path string
		want         float64
	}{
		{"{http.response.header.X-Tokens} reserve 10", "/trailer", 41},
		{"{http.response.header.X-Tokens} reserve 10", "/late-trailer", 42},
		{"usage reserve 10", "/stream", 44},
		{"usage reserve 10", "/gzip", 45},
	} {
		g := serve(t, charging(tc.charge, "reverse_proxy h2c://"+s.Listener.Addr().String()))
		before, _ := g.charges()
		g.get(tc.path).is(200)
		if got, outcome := g.charges(); got-before != tc.want || !strings.HasPrefix(outcome, "known") {
			t.Errorf("%s by %s: charged %v, %s, want %v, known", tc.path, tc.charge, got-before, outcome, tc.want)
		}
	}
}

// TestChargeDelaysNothing has a client get each event of a stream before the upstream sends the next one.
func TestChargeDelaysNothing(t *testing.T) {
	next := make(chan bool)
	addr := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 20 {
			_, _ = io.WriteString(w, "data: {\"usa")
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	g := serve(t, charging("usage", "reverse_proxy "+addr))
	reply, err := g.client.Get("http://" + g.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	body := bufio.NewReader(reply.Body)
	for range 20 {
		if _, err := io.ReadFull(body, make([]byte, len("data: {\"usa"))); err != nil {
			t.Fatal(err)
		}
		next <- true
	}
}
