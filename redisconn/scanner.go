package redisconn

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"
)

// errBounds means that a server sent what no Redis answers to the commands of this package. It is
// wrapped with the details.
var errBounds = errors.New("redisconn: the reply is out of bounds")

const (
	// maxLine is the longest line in bytes: an error message, a status, or a length.
	maxLine = 64 << 10

	// maxArray is the most elements of one array. CLUSTER SLOTS has at most 16384; a script returns
	// 1001 for the finest sub-windows.
	maxArray = 1 << 16

	// maxDepth is how deep arrays may be nested. CLUSTER SLOTS needs four levels: ranges, a range, a
	// node, its metadata.
	maxDepth = 4

	// numberBits is how many bits a number may have. Such numbers are far below the overflow of an
	// int64.
	numberBits = 60
)

// bounds limit how many bytes a server may send.
type bounds struct {
	reply    int // most bytes in one reply
	pipeline int // most bytes in all replies to one pipeline
}

var (
	// callBounds are for INFO and for scripts. The largest reply, for seven rules of 1000
	// sub-windows each, takes 100 kB.
	callBounds = bounds{reply: 1 << 20, pipeline: 16 << 20}

	// topologyBounds have room for CLUSTER SLOTS of a cluster in which every slot is a range of its
	// own.
	topologyBounds = bounds{reply: 8 << 20, pipeline: 8 << 20}
)

// A boundedConn is a connection that fails before a reply out of bounds reaches its reader. It
// belongs to one goroutine at a time.
type boundedConn struct {
	net.Conn
	scanner scanner
	err     error // the error that ended the connection

	unread  bool               // something was written since the last read
	sent    time.Time          // when the newest commands were written
	written func(at time.Time) // is called when they are written; may be nil
}

// begin starts a new pipeline. written, if it is not nil, is called when the pipeline is written.
func (c *boundedConn) begin(written func(at time.Time)) {
	c.scanner.begin()
	c.written = written
}

// Write implements [net.Conn].
func (c *boundedConn) Write(p []byte) (int, error) {
	c.unread = true
	return c.Conn.Write(p)
}

// Read implements [net.Conn]. go-redis reads when it has written all commands.
func (c *boundedConn) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.unread {
		c.unread, c.sent = false, time.Now()
		if c.written != nil {
			c.written(c.sent)
		}
	}
	n, err := c.Conn.Read(p)
	if c.err = c.scanner.scan(p[:n]); c.err != nil {
		_ = c.Conn.Close()
		return 0, c.err
	}
	return n, err
}

// forPool returns c as a [syscall.Conn], if the connection below is one. Only through a [syscall.Conn]
// does the pool of go-redis notice that the server has closed the connection. With TLS, the pool looks
// at the TCP connection below: between two pipelines, nothing but the end of the connection arrives
// there.
func (c *boundedConn) forPool() net.Conn {
	below := c.Conn
	if encrypted, ok := below.(*tls.Conn); ok {
		below = encrypted.NetConn()
	}
	raw, ok := below.(syscall.Conn)
	if !ok {
		return c
	}
	return struct {
		*boundedConn
		syscall.Conn
	}{c, raw}
}

// A scanner follows the framing of RESP2 replies and finds those out of bounds. It needs no lock
// and does no I/O.
//
// It accepts less than go-redis does, and finds the same ends of lines, strings and arrays. So the
// parser that reads the scanned bytes never sees a length that was not checked.
type scanner struct {
	bounds bounds

	pipeline int           // bytes of the replies to the pipeline so far
	reply    int           // bytes of the reply so far
	line     []byte        // the line so far
	body     int           // bytes of the string that are still to come, its CRLF included
	arrays   [maxDepth]int // elements that are still to come, outermost first
	depth    int           // number of arrays that are open
}

// begin starts a new pipeline. All replies to the one before have been read.
func (s *scanner) begin() { s.pipeline = 0 }

// scan reads the bytes that follow those of the last call. After an error, the rest of the stream
// means nothing.
func (s *scanner) scan(p []byte) error {
	for len(p) > 0 {
		n, err := s.step(p)
		if err != nil {
			return fmt.Errorf("%w: %w", errBounds, err)
		}
		p = p[n:]
	}
	return nil
}

// step reads the beginning of p, to the end of a line or string at most, and returns its length.
func (s *scanner) step(p []byte) (n int, err error) {
	inString := s.body > 0
	if inString {
		n, err = s.readBody(p)
	} else {
		n, err = s.readLine(p)
	}
	s.reply += n
	s.pipeline += n
	switch {
	case err != nil:
		return n, err
	case s.reply > s.bounds.reply:
		return n, fmt.Errorf("a reply of more than %d bytes", s.bounds.reply)
	case s.pipeline > s.bounds.pipeline:
		return n, fmt.Errorf("replies of more than %d bytes to one pipeline", s.bounds.pipeline)
	case inString && s.body == 0:
		s.endElement()
	case !inString && p[n-1] == '\n':
		return n, s.endLine()
	}
	return n, nil
}

// readBody reads a part of a string, and checks the CRLF after it.
func (s *scanner) readBody(p []byte) (n int, err error) {
	const end = "\r\n"
	if s.body > len(end) {
		n = min(s.body-len(end), len(p))
	} else if n = 1; p[0] != end[len(end)-s.body] {
		return n, errors.New("a string that is longer than its length")
	}
	s.body -= n
	return n, nil
}

// readLine reads a part of a line, to its end at most.
func (s *scanner) readLine(p []byte) (n int, err error) {
	if n = bytes.IndexByte(p, '\n') + 1; n == 0 {
		n = len(p)
	}
	if len(s.line)+n > maxLine {
		return n, fmt.Errorf("a line of more than %d bytes", maxLine)
	}
	s.line = append(s.line, p[:n]...)
	if p[n-1] == '\n' && (len(s.line) < len("+\r\n") || !bytes.HasSuffix(s.line, []byte("\r\n"))) {
		return n, errors.New("a line that does not end in CRLF")
	}
	return n, nil
}

// endLine handles a whole line.
func (s *scanner) endLine() error {
	kind, text := s.line[0], s.line[1:len(s.line)-len("\r\n")]
	s.line = s.line[:0]
	switch kind {
	case '+', '-':
		s.endElement()
		return nil
	case ':', '$', '*':
	default:
		return fmt.Errorf("a reply of the unknown type %q", kind)
	}
	n, err := strconv.ParseInt(string(text), 10, numberBits)
	if err != nil || text[0] == '+' || n < -1 && kind != ':' {
		return fmt.Errorf("the number %.20q", text)
	}
	most := s.bounds.reply - s.reply
	switch {
	case kind == ':' || n < 0 || kind == '*' && n == 0: // an integer, nil, or an empty array
		s.endElement()
	case kind == '$' && n > int64(most):
		return fmt.Errorf("a string of %d bytes, want at most %d more in the reply", n, most)
	case kind == '$':
		s.body = int(n) + len("\r\n")
	case n > maxArray:
		return fmt.Errorf("an array of %d elements, want at most %d", n, maxArray)
	case s.depth == maxDepth:
		return fmt.Errorf("more than %d arrays in each other", maxDepth)
	default:
		s.arrays[s.depth] = int(n)
		s.depth++
	}
	return nil
}

// endElement notes that an element is complete, and so is each array whose last element it is.
func (s *scanner) endElement() {
	for s.depth > 0 {
		if s.arrays[s.depth-1]--; s.arrays[s.depth-1] > 0 {
			return
		}
		s.depth--
	}
	s.reply = 0
}
