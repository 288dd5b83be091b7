package attack

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// An h2conn is a connection of HTTP/2 whose client writes the frames itself.
type h2conn struct {
	*tls.Conn
	*http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func dialHTTP2(t *testing.T, g *gateway) *h2conn {
	t.Helper()
	conn, err := tls.Dial("tcp", g.tls, clientTLS("h2"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	c := &h2conn{Conn: conn, Framer: http2.NewFramer(conn, conn)}
	c.encoder = hpack.NewEncoder(&c.block)
	if _, err = io.WriteString(conn, http2.ClientPreface); err == nil {
		err = c.WriteSettings()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return c
}

// encode returns the header block of fields.
func (c *h2conn) encode(fields ...field) []byte {
	c.block.Reset()
	for _, f := range fields {
		_ = c.encoder.WriteField(hpack.HeaderField{Name: f.name, Value: f.value})
	}
	return bytes.Clone(c.block.Bytes())
}

// status returns the status of the next response, "" if the connection ends.
func (c *h2conn) status() string {
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			return ""
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.GoAwayFrame, *http2.RSTStreamFrame:
			return ""
		}
	}
}

// send sends a request in a stream. It returns the status of the response, 0 if there is none. It returns an
// error if the connection cannot be used any more.
func (c *h2conn) send(stream uint32, r request) (status int, err error) {
	_ = c.SetDeadline(time.Now().Add(patience))
	err = c.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: c.encode(r.fields()...), EndStream: true, EndHeaders: true})
	for err == nil {
		var frame http2.Frame
		if frame, err = c.ReadFrame(); err != nil {
			break
		}
		ours := frame.Header().StreamID == stream
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			if ours {
				return strconv.Atoi(f.PseudoValue("status"))
			}
		case *http2.RSTStreamFrame:
			if ours {
				return 0, nil
			}
		case *http2.GoAwayFrame:
			return 0, io.EOF
		case *http2.DataFrame: // the body of an earlier response
			if f.Length > 0 {
				err = c.WriteWindowUpdate(0, f.Length)
			}
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = c.WriteSettingsAck()
			}
		}
	}
	return 0, err
}

// A header block in many CONTINUATION frames of one byte each is the same request: its key counts.
func TestKeyInContinuationFrames(t *testing.T) {
	u := newUpstream(keyHeaders)
	g := serve(t, zoned("{http.request.header.X-Api-Key}"), u.ServeHTTP)
	for n := range limit + 3 {
		c := dialHTTP2(t, g)
		block := c.encode(keyHeader("victim", n).fields()...)
		err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:1], EndStream: true})
		for i := 1; i < len(block); i++ {
			err = errors.Join(err, c.WriteContinuation(1, i == len(block)-1, block[i:i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
		want := "200"
		if n >= limit {
			want = "429"
		}
		if got := c.status(); got != want {
			t.Errorf("status of request %d = %s, want %s", n, got, want)
		}
	}
	if seen := u.count("victim"); seen != limit {
		t.Errorf("requests at the upstream = %d, want %d", seen, limit)
	}
}

// A header block that never ends is cut off before it takes memory or counts. Other clients do not notice.
func TestContinuationFlood(t *testing.T) {
	u := newUpstream(keyHeaders)
	g := serve(t, zoned("{http.request.header.X-Api-Key}"), u.ServeHTTP)
	before := heap()
	var floods sync.WaitGroup
	for range 10 {
		c := dialHTTP2(t, g)
		floods.Go(func() {
			err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.encode(keyHeader("flood", 0).fields()...)})
			const most = 64 << 20 // bytes, far above the longest header
			written := 0
			for n := 0; err == nil && written < most; n++ {
				block := c.encode(field{fmt.Sprint("x-", n), strings.Repeat("v", 16_000)})
				written += len(block)
				err = c.WriteContinuation(1, false, block)
			}
			if err == nil {
				t.Errorf("the server has read %d bytes of a header block, want the end of the connection", written)
			}
		})
		floods.Go(func() { _, _ = io.Copy(io.Discard, c.Conn) })
	}
	floods.Wait()
	if status := http1(g)(keyHeader("other", 0)); status != 200 {
		t.Errorf("status of another client = %d, want 200", status)
	}
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("the heap has grown by %d MB, want at most 64", grown>>20)
	}
	if seen := u.count("flood"); seen != 0 {
		t.Errorf("requests at the upstream = %d, want none", seen)
	}
	for n := range limit {
		if status := http1(g)(keyHeader("flood", n)); status != 200 {
			t.Errorf("status of request %d after the flood = %d, want 200: it counts nothing", n, status)
		}
	}
}
