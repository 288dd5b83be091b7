package attack

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }

// A flood of keys, each rejected for the first time, writes few lines to the log.
func TestFloodOfKeysDoesNotFloodLog(t *testing.T) {
	const keys = 300
	g := serve(t, `rate_limit {
		zone key {
			key {http.request.header.X-Api-Key}
			limit 1/1h
		}
	}`, hello)
	start := time.Now()
	do := http1(g)
	for n := range keys {
		do(keyHeader(fmt.Sprint(n), 0))
		do(keyHeader(fmt.Sprint(n), 0))
	}
	lines := len(g.logged(t, "rate limit exceeded"))
	if most := 10 * (2 + int(time.Since(start)/time.Second)); lines < 10 || lines > most {
		t.Errorf("log lines of %d rejected keys = %d, want 10 a second", keys, lines)
	}
}

// Keys of any length that differ in their last byte have different counts.
func TestLongKeysDoNotShareCounts(t *testing.T) {
	u := newUpstream(keyHeaders)
	g := serve(t, zoned("{http.request.header.X-Api-Key}"), u.ServeHTTP)
	for protocol, do := range protocols(t, g) {
		for _, length := range []int{50, 60, 61, 62, 63, 64, 65, 66, 100, 254, 255, 256, 257, 258, 4000} {
			for _, last := range []string{"a", "b"} {
				key := protocol + strings.Repeat("x", length-len(protocol)-1) + last
				for n := range limit + 2 {
					do(keyHeader(key, n))
				}
				if seen := u.count(key); seen != limit {
					t.Errorf("%s: requests with a key of %d bytes that ends in %s = %d, want %d", protocol, length, last, seen, limit)
				}
			}
		}
	}
}

// A request with neither the key nor its substitute is not admitted.
func TestRequestWithoutAnyKey(t *testing.T) {
	u := newUpstream(func(*http.Request) []string { return []string{"client"} })
	g := serve(t, `rate_limit {
		zone key {
			key {http.request.header.X-Api-Key}
			on_missing_key {http.request.header.X-Device}
			limit 3/1h
		}
	}`, u.ServeHTTP)
	for protocol, do := range protocols(t, g) {
		for _, r := range []request{get("/"), get("/", field{"X-Device", " "}), get("/", field{"X-Device", "a"}, field{"X-Device", "b"})} {
			if status := do(r); status != http.StatusBadRequest {
				t.Errorf("%s: status for %v = %d, want 400", protocol, r.header, status)
			}
		}
	}
	if seen := u.count("client"); seen != 0 {
		t.Errorf("requests at the upstream = %d, want none", seen)
	}
}
