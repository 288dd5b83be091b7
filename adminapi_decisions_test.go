package fleetlimit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2"
)

// followed starts a handler with a zone for tests of its tails.
func followed(t *testing.T, zone string) *Handler {
	t.Helper()
	return provisioned(t, `{"log_rejections": "none", "rate_limits": {"`+zone+`": {
		"key": "{http.request.header.X-Api-Key}", "limit": "2/1h"}}}`)
}

// adminMux returns the routes of the admin API as Caddy serves them.
func adminMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range (adminAPI{}).Routes() {
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := route.Handler.ServeHTTP(w, r); err != nil {
				answer := caddy.APIError{HTTPStatus: http.StatusInternalServerError}
				_ = errors.As(err, &answer)
				http.Error(w, err.Error(), answer.HTTPStatus)
			}
		})
	}
	return mux
}

// A pipeServer is an admin endpoint with the timeouts of Caddy's, whose connections are pipes. They
// have no buffer: a client that reads nothing stops the server at once.
type pipeServer struct {
	*http.Server
	conns chan net.Conn
	done  chan struct{}
}

func newPipeServer() *pipeServer {
	s := &pipeServer{
		Server: &http.Server{Handler: adminMux(), ReadTimeout: 10 * time.Second},
		conns:  make(chan net.Conn), done: make(chan struct{}),
	}
	go func() { _ = s.Serve(s) }()
	return s
}

func (s *pipeServer) Addr() net.Addr { return new(net.TCPAddr) }
func (s *pipeServer) Close() error   { close(s.done); return nil }
func (s *pipeServer) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

// follow sends a request for decisions, and waits until its tail is open.
func (s *pipeServer) follow(t *testing.T, query string) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	s.conns <- server
	if _, err := fmt.Fprintf(client, "GET /rate_limit/decisions?%s HTTP/1.1\r\nHost: localhost\r\n\r\n", query); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return client
}

// linesOf reads the lines of an answer until it ends.
func linesOf(t *testing.T, c net.Conn) (decisions, dropped int, end string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("answer %s of %s: %s", resp.Status, resp.Header.Get("Content-Type"), body)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var line struct {
			Outcome string
			Dropped int
			End     string
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || end != "" {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		if line.Outcome != "" {
			decisions++
		}
		dropped, end = dropped+line.Dropped, line.End
	}
	return decisions, dropped, end
}

// inTime runs f with a server in a time of its own.
func inTime(t *testing.T, zone string, f func(t *testing.T, h *Handler, s *pipeServer)) {
	h := followed(t, zone)
	synctest.Test(t, func(t *testing.T) {
		s := newPipeServer()
		f(t, h, s)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if open := len(tails.All()); open != 0 || len(shutdowns.of) != 0 {
			t.Errorf("tails left = %d, servers left = %d", open, len(shutdowns.of))
		}
	})
}

// request sends requests with a key through h.
func (h *Handler) request(key string, n int) {
	for range n {
		_ = h.ServeHTTP(newBenchWriter(), benchRequest(key), handlerThatWritesNothing)
	}
}

// A tail is live for as long as it is meant to be, also after the time in which Caddy reads requests.
func TestTailLastsItsDuration(t *testing.T) {
	inTime(t, "lasting", func(t *testing.T, h *Handler, s *pipeServer) {
		for query, want := range map[string]time.Duration{"sample=1": time.Minute, "sample=1&for=10m": 10 * time.Minute} {
			start := time.Now()
			c := s.follow(t, query)
			go func() {
				time.Sleep(want - time.Second)
				h.request(query, 3)
			}()
			decisions, dropped, end := linesOf(t, c)
			if took := time.Since(start); decisions != 3 || dropped != 0 || end != "duration" || took != want {
				t.Errorf("%s: decisions = %d, dropped = %d, end = %q after %v, want 3, 0 and duration after %v",
					query, decisions, dropped, end, took, want)
			}
			_ = c.Close()
		}
	})
}

func TestTailEndsAtItsLimit(t *testing.T) {
	inTime(t, "limited", func(t *testing.T, h *Handler, s *pipeServer) {
		c := s.follow(t, "sample=1&limit=4")
		h.request("k", 10)
		if decisions, dropped, end := linesOf(t, c); decisions != 4 || dropped != 0 || end != "limit" {
			t.Errorf("decisions = %d, dropped = %d, end = %q, want 4, 0 and limit", decisions, dropped, end)
		}
		_ = c.Close()
	})
}

// What comes faster than it is read is dropped and counted. Requests wait for nothing: time stands
// still while they are served.
func TestTailOfFloodDrops(t *testing.T) {
	inTime(t, "flooded", func(t *testing.T, h *Handler, s *pipeServer) {
		c := s.follow(t, "for=3s")
		start := time.Now()
		h.request("k", 3000) // two of them are admitted
		if waited := time.Since(start); waited != 0 {
			t.Errorf("requests have waited %v for a reader", waited)
		}
		decisions, dropped, end := linesOf(t, c)
		if decisions < maxTailBuffer || decisions+dropped < 2998 || decisions+dropped > 3000 || dropped == 0 || end != "duration" {
			t.Errorf("decisions = %d, dropped = %d, end = %q, want 2998 and duration", decisions, dropped, end)
		}
		_ = c.Close()
	})
}

// A reader that takes nothing loses its tail.
func TestTailOfStalledReaderEnds(t *testing.T) {
	inTime(t, "stalled", func(t *testing.T, h *Handler, s *pipeServer) {
		c := s.follow(t, "for=10m")
		h.request("k", 100)
		time.Sleep(linePatience + tailFlushEvery)
		synctest.Wait()
		if open := len(tails.All()); open != 0 {
			t.Errorf("tails = %d, want none", open)
		}
		_ = c.Close()
	})
}

func TestTailEndsWithItsClient(t *testing.T) {
	inTime(t, "left", func(t *testing.T, h *Handler, s *pipeServer) {
		c := s.follow(t, "for=10m")
		if open := len(tails.All()); open != 1 {
			t.Fatalf("tails = %d, want 1", open)
		}
		go func() { _, _ = io.Copy(io.Discard, c) }()
		synctest.Wait()
		_ = c.Close()
		synctest.Wait()
		if open := len(tails.All()); open != 0 {
			t.Errorf("tails after the client has gone = %d, want none", open)
		}
	})
}

// Caddy shuts an admin endpoint down at each reload, and waits for its requests. It waits for no tail,
// and what was decided before is in it.
func TestTailEndsWithItsServer(t *testing.T) {
	inTime(t, "reloaded", func(t *testing.T, h *Handler, s *pipeServer) {
		other := newPipeServer()
		kept := other.follow(t, "for=1s")
		first, second := s.follow(t, "sample=1"), s.follow(t, "outcome=denied")
		h.request("k", 2)
		start := time.Now()
		shut := make(chan error)
		go func() { shut <- s.Shutdown(t.Context()) }()
		if decisions, _, end := linesOf(t, first); decisions != 2 || end != "reload" {
			t.Errorf("decisions = %d, end = %q, want 2 and reload", decisions, end)
		}
		if _, _, end := linesOf(t, second); end != "reload" {
			t.Errorf("end of the second tail = %q, want reload", end)
		}
		if err := <-shut; err != nil || time.Since(start) > time.Second {
			t.Errorf("the server has shut down after %v: %v", time.Since(start), err)
		}
		if _, _, end := linesOf(t, kept); end != "duration" {
			t.Errorf("end of the tail of another server = %q, want duration", end)
		}
		_ = other.Shutdown(t.Context())
	})
}

func TestTailsAreBounded(t *testing.T) {
	inTime(t, "bounded", func(t *testing.T, h *Handler, s *pipeServer) {
		open := make([]net.Conn, maxTails)
		for i := range open {
			open[i] = s.follow(t, "")
		}
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/rate_limit/decisions?for=1s", nil))
		if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "use one of their tails") {
			t.Errorf("one more = %d %s, want 429", w.Code, w.Body)
		}
		for _, c := range open {
			_ = c.Close()
		}
	})
}

func TestTailRequests(t *testing.T) {
	followed(t, "asked")
	mux := adminMux()
	for _, tc := range []struct {
		method, query, body string
		status              int
		says                string
	}{
		{"GET", "for=1ms", "", 200, `{"end":"duration"}`},
		{"GET", "zone=asked&zone=(emergency)&outcome=rejected&outcome=denied&sample=5%25&limit=9&for=1ms", "", 200, "duration"},
		{"HEAD", "", "", 200, ""},
		{"GET", "zone=askd", "", 400, `there is no zone "askd": use one of ["asked"]`},
		{"GET", "outcome=reject", "", 400, "did you mean rejected?"},
		{"GET", "outcomes=rejected", "", 400, "did you mean outcome?"},
		{"GET", "key=alice", "", 400, "use POST with a body"},
		{"GET", "key_hash=12", "", 400, "use POST with a body"},
		{"GET", "sample=5%", "", 400, "use %25 for a percent sign"},
		{"GET", "sample=NaN", "", 400, "use a fraction from 0 to 1"},
		{"GET", "sample=1.1", "", 400, "use a fraction from 0 to 1"},
		{"GET", "for=30", "", 400, "use one such as 30s"},
		{"GET", "for=601s", "", 400, "use more than 0s, and at most 10m"},
		{"GET", "for=-1s", "", 400, "use more than 0s, and at most 10m"},
		{"GET", "limit=0", "", 400, "use a number from 1"},
		{"POST", "for=1ms", `{"key": "alice"}`, 200, "duration"},
		{"POST", "for=1ms&zone=asked", `{"key_base64": "/w=="}`, 200, "duration"},
		{"POST", "for=1ms", `{"key": "192.0.2.1", "missing": true}`, 200, "duration"},
		{"POST", "", `{}`, 400, `key: zone "asked": the key is empty: use`},
		{"POST", "", `{"keys": ["a"]}`, 400, "An example is"},
		{"POST", "zone=(emergency)", `{"key": "alice"}`, 400, "use the name of a zone"},
		{"DELETE", "", "", 405, "use one of GET, HEAD, POST"},
	} {
		r := httptest.NewRequest(tc.method, "/rate_limit/decisions", strings.NewReader(tc.body))
		r.URL.RawQuery = tc.query
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
			t.Errorf("%s ?%s %s = %d %s, want %d %s", tc.method, tc.query, tc.body, w.Code, w.Body, tc.status, tc.says)
		}
	}
}

func TestTailNeedsZones(t *testing.T) {
	w := httptest.NewRecorder()
	adminMux().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/rate_limit/decisions", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("answer without a configuration = %d %s, want 404", w.Code, w.Body)
	}
}
