package attack

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/qpack"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"
)

// A request is what a client writes, byte by byte.
type request struct {
	method, target, host string
	header               []field
	body                 string
}

type field struct{ name, value string }

// A client sends a request over one protocol and returns the status of the response, 0 if there is none.
type client func(r request) int

// protocols returns a client for each protocol.
func protocols(t *testing.T, g *gateway) map[string]client {
	return map[string]client{"http1": http1(g), "http2": http2Client(t, g), "http3": http3Client(t, g)}
}

const patience = 10 * time.Second

// http1 returns a client with a connection for each request.
func http1(g *gateway) client {
	return func(r request) int {
		conn, err := net.Dial("tcp", g.plain)
		if err != nil {
			return 0
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(conn, r.text()); err != nil {
			return 0
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
}

// text returns the request in HTTP/1.1. The value of a field without a name is a whole line.
func (r request) text() string {
	var b strings.Builder
	b.WriteString(r.method + " " + r.target + " HTTP/1.1\r\nHost: " + r.host + "\r\n")
	for _, f := range r.header {
		if f.name != "" {
			b.WriteString(f.name + ":")
		}
		b.WriteString(f.value + "\r\n")
	}
	b.WriteString("\r\n" + r.body)
	return b.String()
}

// fields returns the header fields of a request in HTTP/2 and HTTP/3.
func (r request) fields() []field {
	all := []field{{":method", r.method}, {":scheme", "https"}, {":authority", r.host}, {":path", r.target}}
	for _, f := range r.header {
		all = append(all, field{strings.ToLower(f.name), f.value})
	}
	return all
}

func clientTLS(protocol string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, ServerName: hostName, NextProtos: []string{protocol}}
}

// http2Client returns a client with one connection, which a request that breaks it replaces.
func http2Client(t *testing.T, g *gateway) client {
	var conn *h2conn
	var stream uint32
	return func(r request) int {
		if conn == nil {
			conn, stream = dialHTTP2(t, g), 1
		}
		status, err := conn.send(stream, r)
		if stream += 2; err != nil {
			_ = conn.Close()
			conn = nil
		}
		return status
	}
}

// http3Client returns a client with one connection, which a request that breaks it replaces.
func http3Client(t *testing.T, g *gateway) client {
	var conn *quic.Conn
	t.Cleanup(func() {
		if conn != nil {
			_ = conn.CloseWithError(0, "")
		}
	})
	return func(r request) int {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if conn == nil || conn.Context().Err() != nil {
			conn = dialHTTP3(ctx, t, g.tls)
		}
		return sendHTTP3(ctx, t, conn, r)()
	}
}

// sendHTTP3 sends a request. status waits for the response and returns its status.
func sendHTTP3(ctx context.Context, t *testing.T, conn *quic.Conn, r request) (status func() int) {
	t.Helper()
	stream := beginHTTP3(ctx, t, conn, r)
	_ = stream.Close()
	return func() int { return readStatus(stream) }
}

// beginHTTP3 sends a request whose body follows.
func beginHTTP3(ctx context.Context, t *testing.T, conn *quic.Conn, r request) *quic.Stream {
	t.Helper()
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.SetDeadline(time.Now().Add(patience))
	var block bytes.Buffer
	encoder := qpack.NewEncoder(&block)
	for _, f := range r.fields() {
		_ = encoder.WriteField(qpack.HeaderField{Name: f.name, Value: f.value})
	}
	frame := append(quicvarint.Append([]byte{headersFrame}, uint64(block.Len())), block.Bytes()...)
	_, _ = stream.Write(frame) // if the write fails, there is no status
	return stream
}

const headersFrame, settingsFrame, controlStream = 1, 4, 0

func dialHTTP3(ctx context.Context, t *testing.T, addr string) *quic.Conn {
	t.Helper()
	conn, err := quic.DialAddr(ctx, addr, clientTLS("h3"), nil)
	if err != nil {
		t.Fatal(err)
	}
	openControl(t, conn)
	return conn
}

// openControl opens the control stream, without which a server refuses requests.
func openControl(t *testing.T, conn *quic.Conn) {
	t.Helper()
	control, err := conn.OpenUniStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.Write([]byte{controlStream, settingsFrame, 0}); err != nil {
		t.Fatal(err)
	}
}

// readStatus returns the status in the first header frame of an HTTP/3 response.
func readStatus(stream io.Reader) int {
	from := bufio.NewReader(stream)
	kind, err := quicvarint.Read(from)
	if err != nil || kind != headersFrame {
		return 0
	}
	length, err := quicvarint.Read(from)
	if err != nil || length > 1<<16 {
		return 0
	}
	block := make([]byte, length)
	if _, err := io.ReadFull(from, block); err != nil {
		return 0
	}
	next := qpack.NewDecoder().Decode(block)
	for {
		f, err := next()
		if err != nil {
			return 0
		}
		if f.Name == ":status" {
			status, _ := strconv.Atoi(f.Value)
			return status
		}
	}
}
