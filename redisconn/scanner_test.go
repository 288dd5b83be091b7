package redisconn

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// small are bounds that replies of a test can exceed.
var small = bounds{reply: 100_000, pipeline: 200_000}

func TestScanner(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("*1\r\n", n) + ":1\r\n" }
	for _, test := range []struct {
		name, replies, err string // err: a part of the error; empty when the replies are within bounds
	}{
		{name: "every type", replies: "+OK\r\n-ERR no\r\n:-7\r\n$3\r\na\r\n\r\n*2\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n"},
		{name: "four arrays in each other", replies: nested(4) + nested(4)},
		{name: "arrays that end together", replies: "*2\r\n*1\r\n*1\r\n:1\r\n*1\r\n*1\r\n*1\r\n:1\r\n" + nested(4)},
		{name: "the longest array, half of it", replies: "*65536\r\n" + strings.Repeat("+\r\n", 1<<15)},
		{name: "a long line", replies: "-" + strings.Repeat("x", maxLine-3) + "\r\n"},

		{name: "a string that overflows", replies: "$9223372036854775807\r\n", err: `the number "9223372036`},
		{name: "a string that is too long", replies: "$100000\r\n", err: "a string of 100000 bytes"},
		{name: "a string of the length -2", replies: "$-2\r\n", err: `the number "-2"`},
		{name: "a length with a sign", replies: "$+5\r\n", err: `the number "+5"`},
		{name: "an integer that overflows", replies: ":9999999999999999999\r\n", err: `the number "9999999999999999999`},
		{name: "an integer that is none", replies: ":\r\n", err: `the number ""`},
		{name: "a length that is none", replies: "*\r\n", err: `the number ""`},
		{name: "a length with a space", replies: "$ 5\r\n", err: `the number " 5"`},
		{name: "a string that goes on", replies: "$1\r\nab\r\n", err: "a string that is longer than its length"},
		{name: "a large array", replies: "*1000000000\r\n", err: "an array of 1000000000 elements"},
		{name: "an array that is too large", replies: "*65537\r\n", err: "an array of 65537 elements"},
		{name: "five arrays in each other", replies: nested(5), err: "more than 4 arrays"},
		{name: "a line without an end", replies: "+" + strings.Repeat("x", maxLine), err: "a line of more than 65536 bytes"},
		{name: "an empty line", replies: "\r\n", err: "a line that does not end in CRLF"},
		{name: "a line that ends in LF", replies: "+OK\n", err: "a line that does not end in CRLF"},
		{name: "a type of RESP3", replies: "%1\r\n+a\r\n+b\r\n", err: "the unknown type '%'"},
		{name: "a large reply", replies: "*2\r\n$60000\r\n" + strings.Repeat("x", 60000) + "\r\n$60000\r\n", err: "a string of 60000 bytes"},
		{name: "a reply of many lines", replies: "*50000\r\n" + strings.Repeat(":1\r\n", 50000), err: "a reply of more than 100000"},
		{name: "many replies", replies: strings.Repeat(":1\r\n", 50001), err: "replies of more than 200000 bytes to one pipeline"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := scanner{bounds: small}
			err := s.scan([]byte(test.replies))
			if test.err == "" && err != nil || test.err != "" && (!errors.Is(err, errBounds) || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error = %v, want %q", err, test.err)
			}
			if got := scanInPieces([]byte(test.replies), 1); fmt.Sprint(got) != fmt.Sprint(err) {
				t.Errorf("byte by byte: error = %v, want %v", got, err)
			}
		})
	}
}

// TestPipelineBoundsAreSeparate checks that each pipeline has bounds of its own.
func TestPipelineBoundsAreSeparate(t *testing.T) {
	s := scanner{bounds: small}
	for range 5 {
		s.begin()
		if err := s.scan([]byte(strings.Repeat(":1\r\n", 40_000))); err != nil {
			t.Fatal(err)
		}
	}
}

func scanInPieces(p []byte, size int) (err error) {
	s := scanner{bounds: small}
	for len(p) > 0 && err == nil {
		n := min(size, len(p))
		err = s.scan(p[:n])
		p = p[n:]
	}
	return err
}

// FuzzScanner checks that the result does not depend on the sizes of the pieces that are scanned, and
// that the scanner's state stays within bounds.
func FuzzScanner(f *testing.F) {
	for _, seed := range hostileReplies {
		f.Add([]byte(seed), 3)
	}
	f.Add([]byte("*2\r\n$3\r\nabc\r\n:1\r\n+OK\r\n"), 2)
	f.Fuzz(func(t *testing.T, p []byte, size int) {
		s := scanner{bounds: small}
		whole := s.scan(p)
		if pieces := scanInPieces(p, max(1, size)); fmt.Sprint(pieces) != fmt.Sprint(whole) {
			t.Errorf("in pieces of %d: error = %v, want %v", size, pieces, whole)
		}
		if whole == nil && (s.body > small.reply+2 || s.depth > maxDepth || len(s.line) > maxLine) {
			t.Errorf("state: a string of %d bytes, %d arrays, a line of %d bytes", s.body, s.depth, len(s.line))
		}
	})
}
