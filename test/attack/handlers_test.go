package attack

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// spend sends requests of a key. want of them must be admitted, and the others get 429.
func spend(t *testing.T, g *gateway, target, key string, requests, want int) {
	t.Helper()
	do := http1(g)
	admitted := 0
	for n := range requests {
		switch status := do(get(target, field{"X-Api-Key", key})); status {
		case http.StatusOK:
			admitted++
		case http.StatusTooManyRequests:
		default:
			t.Errorf("request %d: status %d, want 200 or 429", n, status)
		}
	}
	if admitted != want {
		t.Errorf("admitted of %d requests = %d, want %d", requests, admitted, want)
	}
}

// forward_auth asks another server about each request. That question is no request of a client: it is not
// charged, and is not asked for a rejected request.
func TestForwardAuthIsChargedOnce(t *testing.T) {
	var asked atomic.Int64
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("X-User", "alice")
	}))
	defer authority.Close()
	u := newUpstream(func(r *http.Request) []string { return r.Header["X-User"] })
	g := serve(t, zoned("{http.request.header.X-Api-Key}")+fmt.Sprintf(`
	forward_auth %s {
		uri /auth
		copy_headers X-User
	}
	rate_limit_authenticated {
		zone user {
			key {header.X-User}
			limit 5/1h
			algorithm sliding_window_log
		}
	}`, authority.Listener.Addr()), u.ServeHTTP)
	spend(t, g, "/", "a", 6, limit)
	if got := asked.Load(); got != limit {
		t.Errorf("questions to the authority = %d, want %d", got, limit)
	}
	spend(t, g, "/", "b", 3, 2) // b is a key of the same user
	if seen := u.count("alice"); seen != 5 {
		t.Errorf("requests at the upstream = %d, want 5", seen)
	}
}

// intercept replaces responses. The request was charged once, before, and the response tells its limit.
func TestInterceptIsChargedOnce(t *testing.T) {
	g := serve(t, zoned("{http.request.header.X-Api-Key}")+`
	intercept {
		@missing status 404
		handle_response @missing {
			header X-Replaced yes
			respond "not here" 200
		}
	}`, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	resp := g.response(t, keyHeader("told", 0))
	if resp.StatusCode != 200 || resp.Header.Get("X-Replaced") != "yes" || resp.Header.Get("X-RateLimit-Remaining") != "2" {
		t.Errorf("a replaced response = %d %v, want 200, and 2 remaining", resp.StatusCode, resp.Header)
	}
	spend(t, g, "/", "a", 6, limit)
}

// A template that includes another page makes a request for it, with the headers of the client and the
// address 127.0.0.1. That request passes the limits like any other: if the client's key limits, it is
// charged, too.
func TestIncludedPageIsChargedToo(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"page.html": `page {{httpInclude "/part.html"}}`, "part.html": "part"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g := serve(t, fmt.Sprintf(`rate_limit {
		zone key {
			key {http.request.header.X-Api-Key}
			limit 6/1h
			algorithm sliding_window_log
			endpoint /part.html 4/1h
		}
	}
	handle /*.html {
		root %s
		templates
		file_server
	}`, root), hello)
	do := http1(g)
	var statuses []int
	for n := range 9 {
		statuses = append(statuses, do(get("/page.html", field{"X-Api-Key", "a"})))
		if n == 0 {
			do(get("/part.html", field{"X-Api-Key", "a"}))
		}
	}
	// The part is charged three times for pages, and once for itself. After that, pages fail without it.
	if got := fmt.Sprint(statuses); got != "[200 200 200 500 500 500 429 429 429]" {
		t.Errorf("statuses of the page = %v, want three pages, three that miss a part, then 429", got)
	}
}

// Requests are decided before their bodies have come, however slow these are. A rejected request reaches no
// upstream. Its response comes after its body, which the server reads first.
func TestSlowBodies(t *testing.T) {
	arrived := make(chan struct{}, 100)
	g := serve(t, `rate_limit {
		zone key {
			key {http.request.header.X-Api-Key}
			limit 3/1h
			algorithm sliding_window_log
		}
		log_rejections all
	}`, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body)
	})
	var conns []net.Conn
	const clients = limit + 5
	for n := range clients {
		conn, err := net.Dial("tcp", g.plain)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(patience))
		r := keyHeader("slow", n)
		r.method, r.header, r.body = "POST", append(r.header, field{"Content-Length", "10"}), "x"
		_, _ = io.WriteString(conn, r.text())
		conns = append(conns, conn)
		if n < limit {
			<-arrived
		}
	}
	redistest.Eventually(t, "rejections before the bodies", func() bool {
		return len(g.logged(t, "rate limit exceeded")) == clients-limit
	})
	for n, conn := range conns {
		want := http.StatusOK
		if n >= limit {
			want = http.StatusTooManyRequests
		}
		_, _ = io.WriteString(conn, "123456789")
		if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != want {
			t.Errorf("response to request %d = %v, %v; want %d", n, resp, err, want)
		}
	}
	if more := len(arrived); more > 0 {
		t.Errorf("requests above the limit at the upstream = %d, want none", more)
	}
}

// With `reject error`, error routes handle refused requests. Routes that proxy the request unchanged to the
// upstream undo the refusal. Routes that rewrite it, as the documentation shows, do not.
func TestErrorRoutesOfRefusedRequests(t *testing.T) {
	twice := func(key string) request { return get("/", field{"X-Api-Key", key}, field{"X-Api-Key", "other"}) }
	for _, test := range []struct {
		name, routes string
		passes       bool
	}{
		{"proxied", "reverse_proxy %s", true},
		{"rewritten", "rewrite * /errors/{err.status_code}.html\nrequest_header -X-Api-Key\nreverse_proxy %s", false},
		{"of other errors", "@upstream expression `{err.status_code} in [502, 503, 504]`\nreverse_proxy @upstream %s", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := newUpstream(keyHeaders)
			up := httptest.NewServer(u)
			defer up.Close()
			g := serve(t, `rate_limit {
				zone key {
					key {http.request.header.X-Api-Key}
					limit 3/1h
					algorithm sliding_window_log
				}
				reject error
			}
			handle_errors {
				`+fmt.Sprintf(test.routes, up.Listener.Addr())+"\n}", hello)
			do := http1(g)
			for n := range limit + 2 {
				do(keyHeader("key", n))
				do(twice("twice"))
			}
			if seen := u.count("key") > 0; seen != test.passes {
				t.Errorf("a rejected request at the upstream of the errors: %t, want %t", seen, test.passes)
			}
			if seen := u.count("twice") > 0; seen != test.passes {
				t.Errorf("an ambiguous request at the upstream of the errors: %t, want %t", seen, test.passes)
			}
		})
	}
}

// response sends a request over HTTP/1.1.
func (g *gateway) response(t *testing.T, r request) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", g.plain)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, r.text())
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}
