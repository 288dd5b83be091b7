package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is the length in bytes of the longest line that is read.
const maxLine = 1 << 20

// errLongLine is the error of a line of more than maxLine bytes.
var errLongLine = errors.New("the line is longer than 1 MiB")

// A lineReader reads lines of bounded length.
type lineReader struct {
	r    *bufio.Reader
	long []byte // the newest line, if it is longer than the buffer of r
}

// next returns the next line without its line break. The line is valid until the next call. next skips
// a line of more than maxLine bytes and returns errLongLine. It returns io.EOF behind the last line.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line, err = l.rest(line)
	}
	if err == io.EOF && len(line) > 0 {
		err = nil
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// rest reads the rest of a line that begins with begin.
func (l *lineReader) rest(begin []byte) ([]byte, error) {
	l.long = append(l.long[:0], begin...)
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		if tooLong = tooLong || len(l.long)+len(part) > maxLine; !tooLong {
			l.long = append(l.long, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case tooLong && (err == nil || err == io.EOF):
			return nil, errLongLine
		default:
			return l.long, err
		}
	}
}
