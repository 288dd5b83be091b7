package attack

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	fuzzRequests = flag.Int("attack.requests", 4000, "how many raw requests TestRawRequests sends")
	fuzzSeed     = flag.Uint64("attack.seed", 0, "the seed of its random numbers, 0 for one by the clock")
)

// fuzzedZones count requests by a header, a parameter and a cookie, and by address if these are
// ambiguous or missing.
const fuzzedZones = `rate_limit {
	zone header {
		key {http.request.header.X-Api-Key}
		on_missing_key skip
		limit 3/24h
		algorithm sliding_window_log
		deny_key stolen*
	}
	zone parameter {
		key {http.request.uri.query.key}
		on_missing_key skip
		limit 3/24h
		algorithm fixed_window
	}
	zone cookie {
		key {http.request.cookie.key}
		on_missing_key skip
		limit 3/24h
		algorithm sliding_window 4
	}
	zone endpoint {
		key t:{http.request.host}
		limit 1000000000/1s
		endpoint POST /login* 1000000000/1s
		cost {http.request.header.X-Cost} trusted
	}
	log_rejections none
}`

// templates are requests to mutate. %s stands for one of victims.
var templates = []string{
	"GET / HTTP/1.1\r\nHost: a\r\nX-Api-Key: %s\r\n\r\n",
	"GET /?a=b&key=%s HTTP/1.1\r\nHost: a\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nCookie: a=b; key=%s\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a\r\nX-Api-Key: random\r\nX-Api-Key: %s\r\n\r\n",
	"GET http://b.example/?key=%s HTTP/1.1\r\nHost: a\r\n\r\n",
	"POST /login;a HTTP/1.1\r\nHost: A.\r\nX-Cost: 3\r\nX-Api-Key: %s\r\nContent-Length: 3\r\n\r\nabc",
	"POST /?key=c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Api-Key\r\n\r\n1\r\na\r\n0\r\nX-Api-Key: %s\r\n\r\n",
	"GET / HTTP/1.0\r\nConnection: X-Api-Key\r\nX-Api-Key: %s\r\n\r\n",
}

// victims are two keys that are exhausted, and one that is denied.
var victims = []string{"victim-1", "victim-2", "stolen-1"}

// tokens are what mutations insert.
var tokens = []string{
	" ", "\t", "\r\n ", "\r\n\t", "\r\n", "\n", "\r", "\x00", "\xff", ";", "&", "=", "%", "%00", "%20", "%09", "+", "#", "?", ",", `"`, `\`, "[]",
	"key=", "&key=", ";key=", "KEY=", "%6bey=", "X-Api-Key: ", "x-api-key:", "X_Api_Key: ", "\r\nX-Api-Key: b", "\r\nCookie: key=b", "; key=b",
	"\r\nConnection: X-Api-Key", "\r\nTrailer: X-Api-Key", "\r\nTransfer-Encoding: chunked", "\r\nContent-Length: 1", "\r\nHost: c",
	"\r\nExpect: 100-continue", "\r\nUpgrade: h2c\r\nConnection: Upgrade", "../", "//", "HTTP/1.1", strings.Repeat("a", 300),
}

// mutate returns a template with a few random edits.
func mutate(random *rand.Rand) []byte {
	text := fmt.Appendf(nil, templates[random.IntN(len(templates))], victims[random.IntN(len(victims))])
	for range random.IntN(4) {
		at := random.IntN(len(text))
		switch random.IntN(5) {
		case 0, 1:
			text = slices.Insert(text, at, []byte(tokens[random.IntN(len(tokens))])...)
		case 2:
			text[at] = byte(random.IntN(256))
		case 3:
			text = slices.Delete(text, at, min(len(text), at+1+random.IntN(4)))
		case 4:
			from := random.IntN(len(text))
			text = slices.Insert(text, at, slices.Clone(text[from:min(len(text), from+1+random.IntN(30))])...)
		}
		if len(text) == 0 {
			return []byte("\r\n\r\n")
		}
	}
	return append(text, "\r\n\r\n"...)
}

// Random requests make Caddy neither panic nor answer 500, and no request with an exhausted key reaches the
// upstream. The upstream reads keys as net/http does: every key that it reads has been counted.
func TestRawRequests(t *testing.T) {
	u := newUpstream(func(r *http.Request) (keys []string) {
		if values := r.Header["X-Api-Key"]; len(values) > 0 {
			keys = append(keys, "header "+values[0], "header "+values[len(values)-1])
		}
		if values := r.URL.Query()["key"]; len(values) > 0 {
			keys = append(keys, "parameter "+strings.Trim(values[0], " \t"), "parameter "+strings.Trim(values[len(values)-1], " \t"))
		}
		for _, c := range r.CookiesNamed("key") {
			keys = append(keys, "cookie "+strings.Trim(c.Value, " \t"))
		}
		return slices.DeleteFunc(keys, func(k string) bool { // the other keys are dropped to bound the memory
			return !slices.ContainsFunc(victims, func(v string) bool { return strings.HasSuffix(k, " "+v) })
		})
	})
	g := serve(t, fuzzedZones, u.ServeHTTP)
	do := http1(g)
	for range limit {
		do(get("/", field{"Cookie", "key=1; key=2"})) // exhausts the limit of the address, by which ambiguous cookies count
	}
	seed := *fuzzSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-attack.seed %d", seed)
	var left, answered atomic.Int64
	left.Store(int64(*fuzzRequests))
	var wg sync.WaitGroup
	for worker := range uint64(16) {
		wg.Go(func() {
			for random := rand.New(rand.NewPCG(seed, worker)); left.Add(-1) >= 0; {
				text := mutate(random)
				status, err := send(g.plain, text)
				if err != nil {
					t.Errorf("%v after %q", err, text)
					return
				}
				if status > 0 {
					answered.Add(1)
				}
				if status == http.StatusInternalServerError {
					t.Errorf("status 500 for %q", text)
				}
			}
		})
	}
	wg.Wait()
	if n := answered.Load(); n < int64(*fuzzRequests)/2 {
		t.Errorf("responses to %d requests = %d, want most", *fuzzRequests, n)
	}
	if status := do(get("/")); status != http.StatusOK {
		t.Errorf("status of a valid request after these = %d, want 200", status)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, victim := range victims[:2] {
		if seen := u.seen["header "+victim]; seen != limit {
			t.Errorf("requests at the upstream with header %s = %d, want %d", victim, seen, limit)
		}
	}
	for key, seen := range u.seen {
		if seen > limit || key == "header stolen-1" {
			t.Errorf("requests at the upstream with %s = %d, want at most %d", key, seen, limit)
		}
	}
}

// send writes text to a new connection and returns the status of the response. It returns 0 and no
// error if the text is not a whole request.
func send(addr string, text []byte) (status int, err error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, fmt.Errorf("the gateway is gone: %w", err)
	}
	defer func() {
		_ = conn.(*net.TCPConn).SetLinger(0) // otherwise millions of closed connections would keep their ports
		_ = conn.Close()
	}()
	_ = conn.SetDeadline(time.Now().Add(500 * time.Millisecond))
	if _, err := conn.Write(text); err != nil {
		return 0, nil
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, nil
	}
	_, _ = fmt.Sscanf(string(line[len("HTTP/1.x"):]), "%d", &status)
	return status, nil
}
