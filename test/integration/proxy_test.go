package integration

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// limited is a site that admits five requests. More directives may follow.
const limited = `
	rate_limit {
		zone z {
			key all
			limit 5/1h
		}
	}
`

// upstream starts a server and returns its address.
func upstream(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestUpstreamHeadersAreReplaced(t *testing.T) {
	addr := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Add("X-RateLimit-Limit", "999")
		h.Add("X-RateLimit-Limit", "998")
		h.Set("X-RateLimit-Remaining", "997")
		h.Set("X-RateLimit-Reset", "1")
		h.Set("RateLimit-Policy", `"upstream";q=1`)
		h.Add("RateLimit", `"upstream";r=1`)
		h.Add("RateLimit", `"another";r=1`)
		h.Set("X-Other", "kept")
		h.Set("Access-Control-Expose-Headers", "X-Other")
		_, _ = io.WriteString(w, "upstream")
	})
	g := serve(t, limited+"reverse_proxy "+addr)
	r := g.get("/", "Origin: https://app.example").admitted(4).has("X-RateLimit-Limit", "5").has("X-Other", "kept")
	if reset := r.number("X-RateLimit-Reset"); reset <= time.Now().Unix() {
		t.Errorf("X-RateLimit-Reset = %d, want a future instant", reset)
	}
	if got := r.limits(); len(got) != 1 || got["z"].r != 4 {
		t.Errorf("RateLimit = %+v, want only z with r=4", got)
	}
	if got := r.policies(); len(got) != 1 || got["z"].q != 5 {
		t.Errorf("RateLimit-Policy = %+v, want only z with q=5", got)
	}
	exposed := strings.Join(r.header.Values("Access-Control-Expose-Headers"), ", ")
	if !strings.Contains(exposed, "X-Other") || !strings.Contains(exposed, "RateLimit-Policy") {
		t.Errorf("exposed = %q, want the upstream's and ours", exposed)
	}
	if r.body != "upstream" {
		t.Errorf("body = %q, want the upstream's", r.body)
	}
}

func TestUpstreamTrailersAreRemoved(t *testing.T) {
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if r.URL.Path == "/announced" {
			h.Set("Trailer", "x-ratelimit-limit, X-Kept, RateLimit")
			h.Add("Trailer", "X-RateLimit-Policy")
			_, _ = io.WriteString(w, "upstream")
			h.Set("X-RateLimit-Limit", "999")
			h.Set("RateLimit", `"upstream";r=1`)
			h.Set("X-RateLimit-Policy", "upstream")
			h.Set("X-Kept", "kept")
			return
		}
		_, _ = io.WriteString(w, "upstream")
		w.(http.Flusher).Flush()
		for _, name := range []string{"X-RateLimit-Remaining", "X-RateLimit-Policy", "RateLimit", "RateLimit-Policy"} {
			h.Set(http.TrailerPrefix+name, "999")
		}
		h.Set(http.TrailerPrefix+"X-Kept", "kept")
	})
	g := serve(t, limited+"reverse_proxy "+addr)
	for _, path := range []string{"/announced", "/unannounced"} {
		req, err := http.NewRequest(http.MethodGet, "http://"+g.addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := g.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		readReply(t, resp).is(200).has("X-RateLimit-Limit", "5")
		if got := resp.Trailer.Get("X-Kept"); len(resp.Trailer) != 1 || got != "kept" {
			t.Errorf("trailers of %s = %v, want only X-Kept", path, resp.Trailer)
		}
	}
}

func TestEarlyHintsAreNotFinal(t *testing.T) {
	addr := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("X-RateLimit-Remaining", "999")
		_, _ = io.WriteString(w, "final")
	})
	g := serve(t, limited+"reverse_proxy "+addr)
	hints := 0
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
		if code == http.StatusEarlyHints && header.Get("Link") != "" {
			hints++
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", "http://"+g.addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if r := readReply(t, resp).admitted(4); r.body != "final" || hints != 1 {
		t.Errorf("body = %q, early hints = %d, want final, 1", r.body, hints)
	}
}

func TestUpgradedConnection(t *testing.T) {
	addr := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("hijacking the upstream's connection: %v", err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"X-RateLimit-Limit: 999\r\n\r\n")
		_, _ = io.Copy(conn, rw)
	})
	g := serve(t, limited+"reverse_proxy "+addr)
	conn, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", g.addr)
	from := bufio.NewReader(conn)
	resp, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &reply{t: t, status: resp.StatusCode, header: resp.Header, at: time.Now()}
	r.is(http.StatusSwitchingProtocols).has("X-RateLimit-Limit", "5").has("X-RateLimit-Remaining", "4")
	for _, line := range []string{"one\n", "two\n"} {
		_, _ = io.WriteString(conn, line)
		if got, err := from.ReadString('\n'); err != nil || got != line {
			t.Fatalf("the upgraded connection echoed %q, %v, want %q", got, err, line)
		}
	}
}

func TestUpstreamDown(t *testing.T) {
	for name, handler := range map[string]string{
		"without error routes": "",
		"with error routes":    "handle_errors {\nrespond \"down: {err.status_code}\"\n}",
	} {
		t.Run(name, func(t *testing.T) {
			g := serve(t, limited+"reverse_proxy "+redistest.FreeAddr()+"\n"+handler)
			r := g.get("/").is(502).has("X-RateLimit-Limit", "5").has("X-RateLimit-Remaining", "4").lacks("Retry-After")
			if got := r.limits()["z"].r; got != 4 {
				t.Errorf("r = %d, want 4", got)
			}
			if handler != "" && r.body != "down: 502" {
				t.Errorf("body = %q, want that of the error route", r.body)
			}
		})
	}
}

func TestCompressedResponse(t *testing.T) {
	text := strings.Repeat("compress me ", 500)
	addr := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-RateLimit-Limit", "999")
		_, _ = io.WriteString(w, text)
	})
	g := serve(t, limited+"encode gzip\nreverse_proxy "+addr)
	for left := 4; left >= 0; left-- {
		r := g.get("/", "Accept-Encoding: gzip").admitted(left).has("Content-Encoding", "gzip").has("X-RateLimit-Limit", "5")
		unzipped, err := gzip.NewReader(strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(unzipped); err != nil || string(got) != text {
			t.Errorf("body = %d bytes, error %v, want the upstream's body", len(got), err)
		}
	}
	if r := g.get("/", "Accept-Encoding: gzip").rejected(); !strings.Contains(r.body, "RATE_LIMIT_EXCEEDED") {
		t.Errorf("body = %q, want the rejection", r.body)
	}
}

func TestStreamedEventsAreNotDelayed(t *testing.T) {
	release := make(chan struct{})
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-RateLimit-Remaining", "999")
		_, _ = io.WriteString(w, "data: first\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, "data: last\n\n")
	})
	for name, site := range map[string]string{"proxied": "", "compressed": "encode gzip\n"} {
		t.Run(name, func(t *testing.T) {
			g := serve(t, limited+site+"reverse_proxy "+addr)
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+g.addr+"/", nil)
			resp, err := g.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			from := bufio.NewReader(resp.Body)
			if line, err := from.ReadString('\n'); err != nil || line != "data: first\n" {
				t.Fatalf("before the end of the response, read %q, %v; want the first event", line, err)
			}
			release <- struct{}{}
			resp.Body = io.NopCloser(from)
			if r := readReply(t, resp).admitted(4); r.body != "\ndata: last\n\n" {
				t.Errorf("then read %q, want the last event", r.body)
			}
		})
	}
}
