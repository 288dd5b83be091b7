package held

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

// TestStalledClientsAreCut has a request whose body comes too slowly, and streams of HTTP/2 whose responses
// nobody reads. All are ended, and counted.
func TestStalledClientsAreCut(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("x"), 1<<20)
	for name, limit := range map[string]string{"concurrent": "key static\nconcurrent 20", "adaptive": "adaptive {\nmax 100\n}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := nodeBefore(t, limit, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = w.Write(large)
			})
			slow := opened(t, n, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"+string(large[:70_000]))
			readNothing(t, n, 9) // the address's share of the twenty, less the request with the body
			answer, err := http.ReadResponse(bufio.NewReader(slow), nil)
			if err != nil || answer.StatusCode != http.StatusRequestTimeout {
				t.Errorf("a body that stalls is answered with %v, %v, want 408", answer, err)
			}
			n.Await("the end of what stalls", func() bool {
				return n.Metric(`caddy_rate_limit_stalled_total{waits_for="response",zone="z"}`) > 0 &&
					n.Metric(`caddy_rate_limit_in_flight{zone="z"}`)+n.Metric(`caddy_rate_limit_adaptive_in_flight{zone="z"}`) == 0
			})
			if n := n.Metric(`caddy_rate_limit_stalled_total{waits_for="request",zone="z"}`); n != 1 {
				t.Errorf("%v bodies have stalled, want 1", n)
			}
		})
	}
}

// readNothing sends requests as streams of one HTTP/2 connection with a window of zero bytes.
func readNothing(t *testing.T, n *nodetest.Node, requests int) {
	t.Helper()
	conn := opened(t, n, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	_ = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	go func() { // until the connection is closed
		for _, err := framer.ReadFrame(); err == nil; {
			_, err = framer.ReadFrame()
		}
	}()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range requests {
		block.Reset()
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/"}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
	}
}
