package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// serveHTTP2 starts a gateway that speaks HTTP/2 without TLS.
func serveHTTP2(t *testing.T, site string) *gateway {
	t.Helper()
	g := newGateway(t)
	g.mustLoad(strings.Replace(g.caddyfile("", site), "protocols h1", "protocols h1 h2c", 1))
	return g
}

// takeBytes requests a path over HTTP/2 with a flow-control window of window bytes. If moves is true, it
// opens the window again until it has the whole body. Otherwise it resets the stream as soon as the window is
// full.
func (g *gateway) takeBytes(path string, window int, moves bool) (body []byte) {
	g.t.Helper()
	conn := g.opened(http2.ClientPreface)
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "a"}, {":path", path}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	framer := http2.NewFramer(conn, conn)
	_ = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(window)})
	_ = framer.WriteWindowUpdate(0, 1<<20)
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			g.t.Errorf("%v after %d bytes of %s", err, len(body), path)
			return body
		}
		data, ok := frame.(*http2.DataFrame)
		if !ok {
			continue
		}
		body = append(body, data.Data()...)
		switch {
		case data.StreamEnded():
			return body
		case moves && len(data.Data()) > 0:
			_ = framer.WriteWindowUpdate(1, uint32(len(data.Data())))
		case len(body) == window:
			_ = framer.WriteRSTStream(1, http2.ErrCodeCancel)
			_ = framer.WritePing(false, [8]byte{})
			for { // until the server has read everything
				if frame, err := framer.ReadFrame(); err != nil {
					return body
				} else if ping, ok := frame.(*http2.PingFrame); ok && ping.IsAck() {
					return body
				}
			}
		}
	}
}

// expensive are responses with 30,000 bytes of content, by path, with a verb for the tokens in their usage.
var expensive = map[string]struct{ contentType, body string }{
	"/document": {"application/json", `{"choices":[{"message":{"content":"` + strings.Repeat("words", 6000) + `"}}],"usage":{"total_tokens":%d}}`},
	"/stream": {"text/event-stream", strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\""+strings.Repeat("words", 20)+"\"}}]}\n\n", 300) +
		"data: {\"choices\":[],\"usage\":{\"total_tokens\":%d}}\n\ndata: [DONE]\n\n"},
}

// TestChargeOfWithheldWindow has cheap requests train `auto`. Then clients of HTTP/2 take all of the content
// of an expensive response, and reset the stream before its usage comes.
func TestChargeOfWithheldWindow(t *testing.T) {
	const content, tokens = 30_000, 12_000
	addr := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		kind, how, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		response := expensive["/"+kind]
		w.Header().Set("Content-Type", response.contentType)
		body := fmt.Sprintf(response.body, tokens)
		switch how {
		case "cheap":
			w.Header().Set("Content-Type", "application/json")
			body = `{"usage":{"total_tokens":1}}`
		case "length":
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		case "pieces":
			for ; len(body) > 50; body = body[50:] {
				_, _ = io.WriteString(w, body[:50])
				_ = http.NewResponseController(w).Flush()
			}
		}
		_, _ = io.WriteString(w, body)
	})
	for _, proxy := range []string{"", " {\nflush_interval -1\n}"} {
		for kind, response := range expensive {
			for _, how := range []string{"", "/length", "/pieces"} {
				g := serveHTTP2(t, strings.Replace(charging("usage", "reverse_proxy "+addr+proxy), "1000/24h", "1000000/24h", 1))
				for range 25 {
					g.get(kind + "/cheap").is(200)
				}
				before, _ := g.charges()
				usage := strings.LastIndex(response.body, `"usage"`)
				g.takeBytes(kind+how, usage, false)
				if got, outcome := g.charges(); got-before < content/3 || got-before > tokens {
					t.Errorf("%s%s%s: the client was charged %v, %s, want from %d to %d", kind, how, proxy, got-before, outcome, content/3, tokens)
				}
			}
		}
	}
}
