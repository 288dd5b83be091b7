package integration

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// counting returns a site with more directives behind a zone that counts requests whose responses have these
// statuses.
func counting(statuses, directives string) string {
	return fmt.Sprintf(`
	rate_limit {
		zone z {
			key {path}
			limit 3/24h
			count_status %s
		}
	}
	%s`, statuses, directives)
}

// TestCountStatus counts the status that the client gets, however the request ends.
func TestCountStatus(t *testing.T) {
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Path[1:])
		switch r.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/cut": // the connection ends in the body
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "short")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/hints":
			w.WriteHeader(http.StatusEarlyHints)
			status = 200
		case "/upgrade":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n")
				_ = conn.Close()
			}
			return
		}
		w.WriteHeader(status)
	})
	proxied := "reverse_proxy " + addr
	for _, tc := range []struct {
		name, statuses, directives, path string
		counts                           bool
	}{
		{"a status", "401 403", proxied, "/401", true},
		{"another status", "401 403", proxied, "/404", false},
		{"a class", "5xx", proxied, "/503", true},
		{"all but a class", "!2xx", proxied, "/204", false},
		{"all but a class, another", "!2xx", proxied, "/302", true},
		{"all of a class but one", "4xx !404", proxied, "/404", false},
		{"after early hints", "!2xx", proxied, "/hints", false},
		{"an upstream that answers nothing", "5xx", proxied, "/abort", true},
		{"a body that is cut", "5xx", proxied, "/cut", false},
		{"an upgrade", "101", proxied, "/upgrade", true},
		{"no upstream", "502", "reverse_proxy " + redistest.FreeAddr(), "/", true},
		{"a handler's error", "403", "error 403", "/", true},
		{"an error route with the status of the error", "404", "error 404\nhandle_errors {\nrespond sorry\n}", "/", true},
		{"an error route with another status", "404", "error 404\nhandle_errors {\nrespond sorry 200\n}", "/", true},
		{"a response that is replaced", "401", proxied + " {\n@wrong status 401\nhandle_response @wrong {\nrespond ok 200\n}\n}", "/401", false},
		{"nothing is written", "200", "header X-Any thing", "/", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := serve(t, counting(tc.statuses, tc.directives))
			request := "GET " + tc.path + " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n"
			for n := range 6 {
				conn, err := net.Dial("tcp", g.addr)
				if err != nil {
					t.Fatal(err)
				}
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				_, _ = io.WriteString(conn, request)
				answer := finalStatus(conn)
				rejected := strings.HasPrefix(answer, "HTTP/1.1 429")
				if want := tc.counts && n >= 3; rejected != want {
					t.Errorf("request %d = %q, rejected %t, want %t", n, answer, rejected, want)
				}
				_ = conn.Close()
			}
		})
	}
}

// finalStatus reads up to the status line of the final response, so that the client does not leave before its
// status is known. It returns "" if the connection ends before.
func finalStatus(conn net.Conn) string {
	r := bufio.NewReader(conn)
	for {
		status, err := r.ReadString('\n')
		if err != nil || !strings.HasPrefix(status, "HTTP/1.1 103") {
			return status
		}
		for line := status; err == nil && line != "\r\n"; {
			line, err = r.ReadString('\n')
		}
	}
}

// TestCountStatusOfClientThatLeaves counts requests whose clients leave before the response, because nobody
// knows the status that it would have had.
func TestCountStatusOfClientThatLeaves(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- struct{}{}
			<-r.Context().Done()
			gone <- struct{}{}
		}
	})
	g := serve(t, counting("401", "rewrite /slow* /slow\nreverse_proxy "+addr))
	for range 3 {
		conn, err := net.Dial("tcp", g.addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
		<-arrived
		_ = conn.Close()
		<-gone
	}
	g.get("/slow").rejected()
}

// TestCountStatusAtEndpoint has an endpoint say which statuses count, even if it shares the count of the
// zone.
func TestCountStatusAtEndpoint(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone z {
				key all
				limit 3/24h
				endpoint /login {
					count_status 401
				}
			}
		}
		respond /login ok
		respond ok`)
	for range 6 {
		g.get("/login").is(200)
	}
	for range 3 {
		g.get("/").is(200)
	}
	g.get("/").rejected()
	g.get("/login").rejected()
}

// TestCountStatusInDryRun counts by status in a dry run and in a comparison, as without them.
func TestCountStatusInDryRun(t *testing.T) {
	g := serve(t, `
		rate_limit {
			zone dry {
				key all
				limit 2/24h
				count_status 401
				dry_run
			}
			zone compared {
				key all
				limit 1000/24h
				count_status 401
				compare {
					limit 2/24h
				}
			}
		}
		respond /wrong no 401
		respond ok`)
	rejects := func(want float64) {
		t.Helper()
		for _, series := range []string{
			`caddy_rate_limit_decisions_total{outcome="would_reject",source="store",zone="dry"}`,
			`caddy_rate_limit_comparisons_total{compared="rejected",in_force="admitted",zone="compared"}`,
		} {
			if got := g.metric(series); got != want {
				t.Errorf("%s = %v, want %v", series, got, want)
			}
		}
	}
	for range 5 {
		g.get("/").is(200)
	}
	rejects(0)
	for range 5 {
		g.get("/wrong").is(401)
	}
	rejects(3)
}
