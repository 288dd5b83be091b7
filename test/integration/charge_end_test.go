package integration

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// finished are responses of models, with the text that clients take for the end.
var finished = []struct{ path, contentType, body, end string }{
	{"/document", "application/json", `{"choices":[{"message":{"content":"` + strings.Repeat("words ", 2000) + `"}}],"usage":{"total_tokens":9}}`, ":9}}"},
	{"/typed", "application/vnd.model+json", `{"output":[],"usage":{"total_tokens":9}}`, ":9}}"},
	{"/chat", "text/event-stream", strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"words\"}}]}\n\n", 30) +
		"data: {\"choices\":[],\"usage\":{\"total_tokens\":9}}\n\ndata: [DONE]\n\n", "data: [DONE]"},
	{"/messages", "text/event-stream", "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":4,\"output_tokens\":1}}}\n\n" +
		strings.Repeat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"words\"}}\n\n", 30) +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":5}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", "data: {\"type\":\"message_stop\"}"},
	{"/responses", "text/event-stream", strings.Repeat("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"words\"}\n\n", 30) +
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"total_tokens\":9}}}\n\n", "\"total_tokens\":9}}}"},
}

// finishing answers with one of the finished responses. It ends the response some time after the end of the
// text, as an upstream does that writes a log in between.
func finishing(w http.ResponseWriter, r *http.Request) {
	for _, f := range finished {
		if !strings.HasPrefix(r.URL.Path, f.path) {
			continue
		}
		w.Header().Set("Content-Type", f.contentType)
		if strings.HasSuffix(r.URL.Path, "/length") {
			w.Header().Set("Content-Length", strconv.Itoa(len(f.body)))
		}
		for event := range strings.SplitAfterSeq(f.body, "\n\n") {
			_, _ = io.WriteString(w, event)
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestChargeOfFinishedResponses has clients leave as soon as they have the end of a response. Each request is
// charged what the usage object says, and not its reservation.
func TestChargeOfFinishedResponses(t *testing.T) {
	const rounds = 10
	addr := upstream(t, finishing)
	for _, proxy := range []string{" {\nflush_interval -1\n}", ""} {
		g := serveHTTP2(t, strings.Replace(charging("usage reserve 500", "reverse_proxy "+addr+proxy), "1000/24h", "1000000/24h", 1))
		for _, f := range finished {
			clients := []func(){
				func() { g.takeUntil("GET "+f.path+" HTTP/1.0\r\n\r\n", f.end) },
				func() { g.takeUntil("GET "+f.path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", f.end) },
				func() { g.takeUntil("GET "+f.path+" HTTP/1.1\r\nHost: a\r\n\r\n", f.end) },
				func() { g.takeUntil("GET "+f.path+"/length HTTP/1.1\r\nHost: a\r\n\r\n", f.end) },
				func() { g.takeBytes(f.path, strings.Index(f.body, f.end)+len(f.end), false) }, // over HTTP/2, with a reset
				func() { g.takeBytes(f.path, 100, true) },
			}
			before, _ := g.charges()
			var all sync.WaitGroup
			for range rounds {
				for _, take := range clients {
					all.Go(take)
				}
			}
			all.Wait()
			if got, outcome := g.charges(); got-before != float64(9*rounds*len(clients)) {
				t.Errorf("%s%s: %d requests were charged %v, %s, want 9 each, known", f.path, proxy, rounds*len(clients), got-before, outcome)
			}
		}
	}
}

// takeUntil sends a request, and closes the connection as soon as the body of the response has text.
func (g *gateway) takeUntil(request, text string) {
	conn, err := net.Dial("tcp", g.addr)
	if err != nil {
		g.t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, request)
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		g.t.Error(err)
		return
	}
	var got bytes.Buffer
	for part := make([]byte, 4096); err == nil && !strings.Contains(got.String(), text); {
		var n int
		n, err = reply.Body.Read(part)
		got.Write(part[:n])
	}
	if err != nil && err != io.EOF {
		g.t.Errorf("the response ends with %v, before %q", err, text)
	}
}
