package integration

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestIdleBodiesTakeNoPlace has twenty connections of one address announce bodies that never come, and
// a twenty-first that sends one byte. They take no place, and other requests go on.
func TestIdleBodiesTakeNoPlace(t *testing.T) {
	addr := upstream(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	inEachStoreOf(t, "rate_limit {\n zone z {\n key static\n concurrent 20\n }\n}\nreverse_proxy "+addr, func(t *testing.T, g *gateway) {
		for i := range 41 {
			conn := g.opened("POST / HTTP/1.1\r\nHost: x\r\n" + [2]string{"Content-Length: 5\r\n\r\na", "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"}[i%2])
			defer conn.Close()
		}
		for range 5 {
			g.get("/").is(200)
		}
		if got := g.scrape()[`caddy_rate_limit_in_flight{zone="z"}`]; got != 0 {
			t.Errorf("%v requests are in flight, want none", got)
		}
	})
}

// opened returns a connection on which text was sent.
func (g *gateway) opened(text string) net.Conn {
	g.t.Helper()
	conn, err := net.Dial("tcp", g.addr)
	if err == nil {
		_, err = io.WriteString(conn, text)
	}
	if err != nil {
		g.t.Fatal(err)
	}
	return conn
}

// TestShareOfAddress has one address take as many places of a zone as it can. Another address has the
// rest, and one that a trusted proxy names.
func TestShareOfAddress(t *testing.T) {
	release := make(chan struct{})
	var inFlight atomic.Int64
	addr := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/waits" {
			return
		}
		inFlight.Add(1)
		defer inFlight.Add(-1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	site := "rate_limit {\n zone z {\n key {host}\n concurrent 10\n }\n}\nreverse_proxy " + addr
	inEachStoreOf(t, site, func(t *testing.T, g *gateway) {
		for i := range 6 {
			defer g.opened("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n").Close()
			redistest.Eventually(t, "a request in flight", func() bool { return inFlight.Load() == int64(i+1) })
		}
		g.raw("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").is(429).says("Limit of 6 concurrent requests from one address exceeded")
		g.raw("GET / HTTP/1.1\r\nHost: y\r\nConnection: close\r\n\r\n").is(200)
		g.raw("GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\r\n").is(200)
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		other := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
		request, _ := http.NewRequest("GET", "http://"+g.addr+"/", nil)
		request.Host = "x"
		response, err := other.Do(request)
		if err != nil || response.StatusCode != 200 {
			t.Fatalf("another address: %v, %v, want 200", response, err)
		}
		_ = response.Body.Close()
	})
}

// TestHoldAfterCancel has a client hang up again and again while the upstream works on. No more
// requests reach the upstream at once than there are places.
func TestHoldAfterCancel(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 100)
	var inFlight atomic.Int64
	addr := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/report" {
			inFlight.Add(1)
			began <- struct{}{}
			<-release // it does not notice that the client has gone
			inFlight.Add(-1)
		}
	})
	site := "rate_limit {\n zone z {\n key {header.X-Api-Key}\n concurrent 2\n hold_after_cancel 30s\n }\n}\nreverse_proxy " + addr
	g := serve(t, site)
	for range 2 {
		conn := g.opened("GET /report HTTP/1.1\r\nHost: x\r\nX-Api-Key: k\r\n\r\n")
		<-began
		_ = conn.Close()
	}
	for range 20 {
		g.get("/", "X-Api-Key: k").is(429)
	}
	if n := inFlight.Load(); n != 2 {
		t.Errorf("%d reports are under way, want 2", n)
	}
	close(release)
	redistest.Eventually(t, "the places to be given back", func() bool { return g.scrape()[`caddy_rate_limit_in_flight{zone="z"}`] == 0 })
	g.get("/", "X-Api-Key: k").is(200)
}

// TestMaxHold has a request give its place back while it goes on.
func TestMaxHold(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 1)
	addr := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/waits" {
			began <- struct{}{}
			<-release
		}
	})
	g := serve(t, "rate_limit {\n zone z {\n key static\n concurrent 1\n max_hold 1s\n }\n}\nreverse_proxy "+addr)
	conn := g.opened("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n")
	defer conn.Close()
	<-began
	redistest.Eventually(t, "the place to be given back", func() bool { return g.get("/").status == 200 })
	close(release)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != 200 {
		t.Errorf("the request without a place: %v, %v, want 200", response, err)
	}
}

// TestStalledClientsAreCut has a body that comes too slowly, and streams of HTTP/2 whose responses
// nobody reads. All are ended, and counted.
func TestStalledClientsAreCut(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 1<<20)
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(large)
	})
	for _, limit := range []string{"key static\n concurrent 20", "adaptive {\n max 100\n }"} {
		t.Run(limit[:8], func(t *testing.T) {
			g := newGateway(t)
			g.mustLoad(strings.Replace(g.caddyfile("", "rate_limit {\n zone z {\n "+limit+"\n }\n}\nreverse_proxy "+addr), "protocols h1", "protocols h1 h2c", 1))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			slow := g.opened("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + string(large[:70_000]))
			defer slow.Close()
			conn := g.opened(http2.ClientPreface)
			defer conn.Close()
			framer := http2.NewFramer(conn, conn)
			_ = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			go func() {
				for ctx.Err() == nil {
					if _, err := framer.ReadFrame(); err != nil {
						return
					}
				}
			}()
			for i := range 9 { // its share of the twenty, beside the body
				var block bytes.Buffer
				encoder := hpack.NewEncoder(&block)
				for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/"}} {
					_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
				}
				_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
			}
			answer, err := http.ReadResponse(bufio.NewReader(slow), nil)
			if err != nil || answer.StatusCode != http.StatusRequestTimeout {
				t.Errorf("a body that stalls is answered with %v, %v, want 408", answer, err)
			}
			redistest.Eventually(t, "the end of what stalls", func() bool {
				metrics := g.scrape()
				return metrics[`caddy_rate_limit_stalled_total{waits_for="response",zone="z"}`] > 0 &&
					metrics[`caddy_rate_limit_in_flight{zone="z"}`]+metrics[`caddy_rate_limit_adaptive_in_flight{zone="z"}`] == 0
			})
			if n := g.scrape()[`caddy_rate_limit_stalled_total{waits_for="request",zone="z"}`]; n != 1 {
				t.Errorf("%v bodies have stalled, want 1", n)
			}
		})
	}
}

// TestSlowClientsAreNotCut has clients that are slow or silent for longer than a stall may last: an
// upload, a download, a stream of events and an upgraded connection. The upstream takes its time, too.
func TestSlowClientsAreNotCut(t *testing.T) {
	const lasts, size = 34, 340_000 // seconds, bytes
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		pause := func() { <-time.After(lasts * time.Second) }
		switch r.URL.Path {
		case "/upload":
			n, _ := io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, strconv.FormatInt(n, 10))
		case "/download":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 8*size))
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			pause()
			_, _ = io.WriteString(w, "data: 2\n\n")
		case "/upgrade":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			pause()
			_, _ = io.WriteString(conn, "end")
		}
	})
	g := serve(t, "rate_limit {\n zone z {\n key static\n concurrent 20\n adaptive\n }\n}\nreverse_proxy "+addr)
	slowly := func(each int) io.Reader { return &slowReader{left: lasts * each, each: each} }
	var all sync.WaitGroup
	ends := func(name string, request *http.Request, end string) {
		all.Go(func() {
			response, err := new(http.Client).Do(request)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			defer response.Body.Close()
			body := io.Reader(response.Body)
			if name == "download" {
				body = io.MultiReader(io.LimitReader(throttled{body, 80_000}, lasts*80_000), body)
			}
			if got, err := io.ReadAll(body); err != nil || !strings.HasSuffix(string(got), end) {
				t.Errorf("%s: status %d with %d bytes, %v, want the end %q", name, response.StatusCode, len(got), err, end)
			}
		})
	}
	request := func(path string, body io.Reader, length int64) *http.Request {
		r, _ := http.NewRequest("POST", "http://"+g.addr+path, body)
		r.ContentLength = length
		return r
	}
	ends("upload", request("/upload", slowly(10_000), lasts*10_000), strconv.Itoa(lasts*10_000))
	ends("small upload", request("/upload", slowly(700), lasts*700), strconv.Itoa(lasts*700))
	ends("chunked upload", request("/upload", slowly(700), -1), strconv.Itoa(lasts*700))
	ends("download", request("/download", nil, 0), "x")
	ends("events", request("/events", nil, 0), "data: 2\n\n")
	conn := g.opened("GET /upgrade HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	defer conn.Close()
	if got, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(got), "end") {
		t.Errorf("an upgraded connection ends with %q, %v", got, err)
	}
	all.Wait()
}

// A slowReader has some bytes each second.
type slowReader struct{ left, each int }

func (r *slowReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	<-time.After(time.Second)
	n := min(r.each, r.left, len(p))
	r.left -= n
	return n, nil
}

// A throttled reader reads at most a number of bytes each second.
type throttled struct {
	io.Reader
	each int
}

func (r throttled) Read(p []byte) (int, error) {
	<-time.After(time.Second)
	return io.ReadFull(r.Reader, p[:min(len(p), r.each)])
}
