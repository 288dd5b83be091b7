package redisconn

import (
	"net"
	"syscall"
)

// A boundedConn is a connection that fails before a reply out of bounds reaches whoever reads from
// it. It belongs to one goroutine at a time.
type boundedConn struct {
	net.Conn
	scanner scanner
	err     error // that ended the connection
}

// Read implements [net.Conn].
func (c *boundedConn) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.Conn.Read(p)
	if c.err = c.scanner.scan(p[:n]); c.err != nil {
		_ = c.Conn.Close()
		return 0, c.err
	}
	return n, err
}

// forPool returns c as go-redis is to see it: its pool finds out that the server has closed a
// connection if that is a [syscall.Conn].
func (c *boundedConn) forPool() net.Conn {
	raw, ok := c.Conn.(syscall.Conn)
	if !ok { // with TLS
		return c
	}
	return struct {
		*boundedConn
		syscall.Conn
	}{c, raw}
}
