package integration

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// oddModel is an upstream whose responses are unusual.
func oddModel(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	const usage = `{"usage": {"total_tokens": 43}}`
	answer := func(contentType, body string) {
		h.Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
	words := strings.Repeat("words ", 500)
	raw := func(text string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}
	switch r.URL.Path {
	case "/early-hints":
		h.Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		answer("application/json", usage)
	case "/text": // such as the transcript of a client's recording
		answer("text/plain", usage)
	case "/html":
		answer("text/html; charset=utf-8", usage)
	case "/typed":
		answer("application/vnd.model+json", usage)
	case "/no-type":
		h["Content-Type"] = nil
		_, _ = io.WriteString(w, usage)
	case "/no-content":
		w.WriteHeader(http.StatusNoContent)
	case "/head":
		h.Set("X-Tokens", "41")
		answer("application/json", usage)
	case "/gzip":
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Type", "application/json")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, usage)
		_ = z.Close()
	case "/identity":
		h.Set("Content-Encoding", "identity")
		answer("application/json", usage)
	case "/cut-length":
		h.Set("Content-Length", "10000")
		answer("application/json", `{"choices":"`+words)
		panic(http.ErrAbortHandler)
	case "/cut-chunked":
		answer("application/json", `{"choices":"`+words)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "/cut-closed":
		raw("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + `{"choices":"` + words)
	case "/cut-usage-first":
		answer("application/json", `{"usage": {"total_tokens": 700},"choices":"`+words)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "/negative":
		h.Set("X-Tokens", "-5")
	case "/fraction":
		h.Set("X-Tokens", "1.5")
	case "/partial":
		w.WriteHeader(http.StatusPartialContent)
		answer("application/json", `{"choi`)
	case "/crlf":
		for _, part := range []string{"data: {\"usage\": {\"total_", "tokens\": 4", "3}}\r", "\n\r", "\ndata: [DO", "NE]\r\n\r\n"} {
			answer("text/event-stream", part)
			_ = http.NewResponseController(w).Flush()
		}
	case "/several":
		answer("application/json", `{"usage":{"total_tokens":1},"choices":[{"usage":{"total_tokens":2}}],"usage":{"total_tokens":43}}`)
	case "/nan":
		answer("application/json", `{"usage":{"total_tokens":NaN}}`)
	case "/huge":
		answer("application/json", `{"usage":{"total_tokens":1e400}}`)
	case "/minus":
		answer("application/json", `{"usage":{"prompt_tokens":40,"completion_tokens":3,"total_tokens":-5}}`)
	}
}

// TestChargeOfOddResponses charges requests for unusual responses.
func TestChargeOfOddResponses(t *testing.T) {
	addr := upstream(t, oddModel)
	const header, usage = "{http.response.header.X-Tokens} reserve 10", "usage reserve 10"
	proxied := "reverse_proxy " + addr
	for _, tc := range []struct {
		name, method, charge, directives, path string
		want                                   float64
		outcome                                string
	}{
		{"early hints", "GET", usage, proxied, "/early-hints", 43, "known"},
		{"text", "GET", usage, proxied, "/text", 10, "unknown"},
		{"HTML", "GET", usage, proxied, "/html", 10, "unknown"},
		{"another type of JSON", "GET", usage, proxied, "/typed", 43, "known"},
		{"no type", "GET", usage, proxied, "/no-type", 43, "known"},
		{"no content", "GET", usage, proxied, "/no-content", 10, "unknown"},
		{"no body by header", "HEAD", header, proxied, "/head", 41, "known"},
		{"no body", "HEAD", usage, proxied, "/head", 10, "unknown"},
		{"gzip", "GET", usage, proxied, "/gzip", 43, "known"},
		{"identity", "GET", usage, proxied, "/identity", 43, "known"},
		{"cut, length", "GET", usage, proxied, "/cut-length", 682, "unknown"},
		{"cut, chunked", "GET", usage, proxied, "/cut-chunked", 1004, "unknown"},
		{"cut, closed", "GET", usage, proxied, "/cut-closed", 10, "unknown"},
		{"cut, usage first", "GET", usage, proxied, "/cut-usage-first", 1014, "unknown"},
		{"negative", "GET", header, proxied, "/negative", 10, "unknown"},
		{"fraction", "GET", header, proxied, "/fraction", 10, "unknown"},
		{"partial", "GET", usage, proxied, "/partial", 10, "unknown"},
		{"CRLF in parts", "GET", usage, proxied, "/crlf", 43, "known"},
		{"several", "GET", usage, proxied, "/several", 43, "known"},
		{"NaN", "GET", usage, proxied, "/nan", 10, "unknown"},
		{"huge", "GET", usage, proxied, "/huge", 100_000, "capped"},
		{"minus", "GET", usage, proxied, "/minus", 43, "known"},
		{"a second upstream", "GET", usage, "reverse_proxy 127.0.0.1:1 " + addr + " {\nlb_policy first\nlb_retries 1\nfail_duration 10s\n}", "/typed", 43, "known"},
		{"no upstream twice", "GET", usage, "reverse_proxy 127.0.0.1:1 127.0.0.1:2 {\nlb_policy first\nlb_retries 1\nfail_duration 10s\n}", "/typed", 0, "refunded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := serve(t, charging(tc.charge, tc.directives))
			conn, err := net.Dial("tcp", g.addr)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: a\r\n\r\n", tc.method, tc.path)
			replies, request := bufio.NewReader(conn), &http.Request{Method: tc.method}
			reply, err := http.ReadResponse(replies, request)
			if err == nil && reply.StatusCode == http.StatusEarlyHints {
				reply, err = http.ReadResponse(replies, request)
			}
			if err == nil {
				_, _ = io.Copy(io.Discard, reply.Body)
			}
			_ = conn.Close()
			got, outcome := g.charges()
			if got != tc.want || outcome != tc.outcome+" 1" {
				t.Errorf("charged %v, %s, want %v, %s", got, outcome, tc.want, tc.outcome)
			}
		})
	}
}
