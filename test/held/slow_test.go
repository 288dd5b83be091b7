package held

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSlowClientsAreNotCut has clients that are slow or silent for longer than a client may stall: in an
// upload, a download, a stream of events and an upgraded connection. The upstream takes its time, too.
func TestSlowClientsAreNotCut(t *testing.T) {
	const lasts, size = 34, 340_000 // seconds, bytes
	t.Parallel()
	n := nodeBefore(t, "key static\nconcurrent 20\nadaptive", func(w http.ResponseWriter, r *http.Request) {
		pause := func() { <-time.After(lasts * time.Second) }
		switch r.URL.Path {
		case "/upload":
			n, _ := io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, strconv.FormatInt(n, 10))
		case "/download":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 8*size))
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			pause()
			_, _ = io.WriteString(w, "data: 2\n\n")
		case "/upgrade":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			pause()
			_, _ = io.WriteString(conn, "end")
		}
	})
	slowly := func(each int) io.Reader { return &slowReader{left: lasts * each, each: each} }
	var all sync.WaitGroup
	ends := func(name string, request *http.Request, end string) {
		all.Go(func() {
			response, err := new(http.Client).Do(request)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			defer response.Body.Close()
			body := io.Reader(response.Body)
			if name == "download" {
				body = io.MultiReader(io.LimitReader(throttled{body, 80_000}, lasts*80_000), body)
			}
			if got, err := io.ReadAll(body); err != nil || !strings.HasSuffix(string(got), end) {
				t.Errorf("%s: status %d with %d bytes, %v, want the end %q", name, response.StatusCode, len(got), err, end)
			}
		})
	}
	request := func(path string, body io.Reader, length int64) *http.Request {
		r, _ := http.NewRequest("POST", "http://"+n.Addr+path, body)
		r.ContentLength = length
		return r
	}
	ends("upload", request("/upload", slowly(10_000), lasts*10_000), strconv.Itoa(lasts*10_000))
	ends("small upload", request("/upload", slowly(700), lasts*700), strconv.Itoa(lasts*700))
	ends("chunked upload", request("/upload", slowly(700), -1), strconv.Itoa(lasts*700))
	ends("download", request("/download", nil, 0), "x")
	ends("events", request("/events", nil, 0), "data: 2\n\n")
	conn := opened(t, n, "GET /upgrade HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if got, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(got), "end") {
		t.Errorf("an upgraded connection ends with %q, %v", got, err)
	}
	all.Wait()
}

// A slowReader returns some bytes each second.
type slowReader struct{ left, each int }

func (r *slowReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	<-time.After(time.Second)
	n := min(r.each, r.left, len(p))
	r.left -= n
	return n, nil
}

// A throttled reads at most a number of bytes each second.
type throttled struct {
	io.Reader
	each int
}

func (r throttled) Read(p []byte) (int, error) {
	<-time.After(time.Second)
	return io.ReadFull(r.Reader, p[:min(len(p), r.each)])
}
