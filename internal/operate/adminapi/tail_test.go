package adminapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/tail"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/rules"
)

// newProcess returns a process with a zone.
func newProcess(t *testing.T) *Process {
	t.Helper()
	settings := &config.Zone{Key: "static"}
	if err := json.Unmarshal([]byte(`"1/1s"`), &settings.Limit); err != nil {
		t.Fatal(err)
	}
	set := new(zone.Set)
	z, err := set.New("zone", settings, zone.Options{Usage: &usage.ZoneCounters{Name: "zone"}})
	if err != nil {
		t.Fatal(err)
	}
	set.Add(z)
	s, _ := set.Compile(&rules.Version{Document: new(rules.Document)}, nil, time.Now())
	return &Process{Tails: new(tail.Decisions), Running: func() *Running { return &Running{Snapshot: s} }}
}

// publish publishes n decisions to the tails of p.
func (p *Process) publish(n int) {
	for range n {
		for _, open := range p.Tails.All() {
			if !open.Full() {
				open.Put(&api.Decision{Outcome: api.Rejected})
			}
		}
	}
}

// A pipeServer is an admin endpoint with the timeouts of Caddy's, whose connections are pipes. They
// have no buffer: a client that reads nothing stops the server at once.
type pipeServer struct {
	*http.Server
	conns chan net.Conn
	done  chan struct{}
}

func newPipeServer(p *Process) *pipeServer {
	mux := http.NewServeMux()
	for _, route := range Routes(p) {
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := route.Handler.ServeHTTP(w, r); err != nil {
				http.Error(w, err.Error(), statusOfError(err))
			}
		})
	}
	s := &pipeServer{
		Server: &http.Server{Handler: mux, ReadTimeout: 10 * time.Second},
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

// inTime runs f with a server in a bubble, which has a clock of its own.
func inTime(t *testing.T, f func(t *testing.T, p *Process, s *pipeServer)) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t)
		s := newPipeServer(p)
		f(t, p, s)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if open := len(p.Tails.All()); open != 0 || len(shutdowns.of) != 0 {
			t.Errorf("tails left = %d, servers left = %d", open, len(shutdowns.of))
		}
	})
}

// A tail lasts as long as its request says, even after the time in which Caddy reads requests.
func TestTailLastsItsDuration(t *testing.T) {
	inTime(t, func(t *testing.T, p *Process, s *pipeServer) {
		for query, want := range map[string]time.Duration{"sample=1": time.Minute, "sample=1&for=10m": 10 * time.Minute} {
			start := time.Now()
			c := s.follow(t, query)
			go func() {
				time.Sleep(want - time.Second)
				p.publish(3)
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
	inTime(t, func(t *testing.T, p *Process, s *pipeServer) {
		c := s.follow(t, "sample=1&limit=4")
		p.publish(10)
		if decisions, dropped, end := linesOf(t, c); decisions != 4 || dropped != 0 || end != "limit" {
			t.Errorf("decisions = %d, dropped = %d, end = %q, want 4, 0 and limit", decisions, dropped, end)
		}
		_ = c.Close()
	})
}

// Decisions that come faster than the reader reads them are dropped and counted.
func TestTailOfFloodDrops(t *testing.T) {
	inTime(t, func(t *testing.T, p *Process, s *pipeServer) {
		c := s.follow(t, "for=3s")
		p.publish(3000)
		decisions, dropped, end := linesOf(t, c)
		if decisions < maxTailBuffer || decisions+dropped != 3000 || dropped == 0 || end != "duration" {
			t.Errorf("decisions = %d, dropped = %d, end = %q, want 3000 and duration", decisions, dropped, end)
		}
		_ = c.Close()
	})
}

// A reader that takes nothing loses its tail.
func TestTailOfStalledReaderEnds(t *testing.T) {
	inTime(t, func(t *testing.T, p *Process, s *pipeServer) {
		c := s.follow(t, "for=10m")
		p.publish(100)
		time.Sleep(linePatience + tailFlushEvery)
		synctest.Wait()
		if open := len(p.Tails.All()); open != 0 {
			t.Errorf("tails = %d, want none", open)
		}
		_ = c.Close()
	})
}

func TestTailEndsWithItsClient(t *testing.T) {
	inTime(t, func(t *testing.T, p *Process, s *pipeServer) {
		c := s.follow(t, "for=10m")
		if open := len(p.Tails.All()); open != 1 {
			t.Fatalf("tails = %d, want 1", open)
		}
		go func() { _, _ = io.Copy(io.Discard, c) }()
		synctest.Wait()
		_ = c.Close()
		synctest.Wait()
		if open := len(p.Tails.All()); open != 0 {
			t.Errorf("tails after the client has gone = %d, want none", open)
		}
	})
}

// Caddy shuts an admin endpoint down at each reload, and waits for its requests. It does not wait
// for a tail, and the tail has what was decided before.
func TestTailEndsWithItsServer(t *testing.T) {
	inTime(t, func(t *testing.T, p *Process, s *pipeServer) {
		other := newPipeServer(p)
		kept := other.follow(t, "for=1s")
		first, second := s.follow(t, "sample=1"), s.follow(t, "outcome=denied")
		p.publish(2)
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
	inTime(t, func(t *testing.T, p *Process, s *pipeServer) {
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
