package integration

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestIdleBodiesTakeNoPlace has 41 connections of one address send the first byte of a body, and no more.
// They take no place, and other requests go on.
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

// TestShareOfAddress has one address take as many places of a zone as it can. Another address gets the rest,
// and so does an address that a trusted proxy names.
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

// TestHoldAfterCancel has a client hang up again and again while the upstream works on. The upstream never
// has more requests at once than there are places.
func TestHoldAfterCancel(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 100)
	var inFlight atomic.Int64
	addr := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/report" {
			inFlight.Add(1)
			began <- struct{}{}
			<-release // the upstream does not notice that the client has gone
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
