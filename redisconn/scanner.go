package redisconn

import (
	"bytes"
	"errors"
	"fmt"
)

// errBounds says that a server sent what no Redis answers to the commands of this package. It is
// wrapped with the details.
var errBounds = errors.New("redisconn: the reply is out of bounds")

const (
	// maxLine is the longest line in bytes: an error message, a status, or a length.
	maxLine = 64 << 10

	// maxArray is the most elements of one array. CLUSTER SLOTS has at most 16384; a script returns
	// 1001 for the finest sub-windows.
	maxArray = 1 << 16

	// maxDepth is how deep arrays are nested. CLUSTER SLOTS needs four: ranges, a range, a node,
	// its metadata.
	maxDepth = 4

	// maxDigits is the most digits of a number. It keeps numbers below what an int64 overflows at.
	maxDigits = 18
)

// Bounds limit how many bytes a server may send.
type bounds struct {
	reply    int // in one reply
	pipeline int // in all replies to one pipeline
}

var (
	// callBounds are for INFO and for scripts. Eight rules of 1000 sub-windows each, the largest
	// reply there is, take 100 kB.
	callBounds = bounds{reply: 1 << 20, pipeline: 16 << 20}

	// topologyBounds have room for CLUSTER SLOTS of a cluster in which every slot is a range of its
	// own.
	topologyBounds = bounds{reply: 8 << 20, pipeline: 8 << 20}
)

// A scanner follows the framing of RESP2 replies and finds what is out of bounds. It needs no lock
// and does no I/O.
//
// It accepts less than go-redis does, and finds the same ends of lines, strings and arrays, so the
// parser that reads the scanned bytes never sees a length that was not checked.
type scanner struct {
	bounds bounds

	pipeline int // bytes of the pipeline so far
	reply    int // bytes of the reply so far

	head   [1 + len("-") + maxDigits + len("\r\n")]byte // the beginning of the line
	line   int                                          // bytes of the line so far
	last   byte                                         // of the line
	body   int                                          // bytes of the string that are to come, its CRLF included
	arrays [maxDepth]int                                // elements that are to come, outermost first
	depth  int                                          // arrays that are open
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

// step reads the beginning of p, to the end of a line or string at most, and returns how many bytes
// that is.
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
	case !inString && s.last == '\n':
		return n, s.endLine()
	}
	return n, nil
}

// readBody reads a part of a string, and checks the CRLF behind it.
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
	if s.line+n > maxLine {
		return n, fmt.Errorf("a line of more than %d bytes", maxLine)
	}
	before := s.last
	if n > 1 {
		before = p[n-2]
	}
	if s.line < len(s.head) {
		copy(s.head[s.line:], p[:n])
	}
	s.line, s.last = s.line+n, p[n-1]
	if s.last == '\n' && (s.line < len("+\r\n") || before != '\r') {
		return n, errors.New("a line that does not end in CRLF")
	}
	return n, nil
}

// endLine deals with a whole line.
func (s *scanner) endLine() error {
	kind, long := s.head[0], s.line > len(s.head)
	text := s.head[1 : min(s.line, len(s.head))-len("\r\n")]
	s.line, s.last = 0, 0
	switch kind {
	case '+', '-':
		s.endElement()
		return nil
	case ':', '$', '*':
	default:
		return fmt.Errorf("a reply of the unknown type %q", kind)
	}
	n, ok := number(text)
	switch {
	case !ok || long || n < -1 && kind != ':':
		return fmt.Errorf("the number %q", text)
	case n < 0 || kind == ':': // an integer, or nil
		s.endElement()
		return nil
	case kind == '$':
		return s.beginString(n)
	}
	return s.beginArray(n)
}

func (s *scanner) beginString(n int64) error {
	if most := s.bounds.reply - s.reply; n > int64(most) {
		return fmt.Errorf("a string of %d bytes, want at most %d more in the reply", n, most)
	}
	s.body = int(n) + len("\r\n")
	return nil
}

func (s *scanner) beginArray(n int64) error {
	switch {
	case n > maxArray:
		return fmt.Errorf("an array of %d elements, want at most %d", n, maxArray)
	case n == 0:
		s.endElement()
	case s.depth == maxDepth:
		return fmt.Errorf("more than %d arrays in each other", maxDepth)
	default:
		s.arrays[s.depth] = int(n)
		s.depth++
	}
	return nil
}

// endElement notes that an element is complete, and with it the arrays whose last one it is.
func (s *scanner) endElement() {
	for s.depth > 0 {
		if s.arrays[s.depth-1]--; s.arrays[s.depth-1] > 0 {
			return
		}
		s.depth--
	}
	s.reply = 0
}

// number returns the number that text is. It refuses all spellings but Redis's own.
func number(text []byte) (n int64, ok bool) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	if len(digits) == 0 || len(digits) > maxDigits {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}
