package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is the length in bytes above which a line is not read.
const maxLine = 1 << 20

// errLongLine is the error of a line of more than maxLine bytes.
var errLongLine = errors.New("the line is longer than 1 MiB")

// A lineReader reads lines of bounded length.
type lineReader struct {
	r    *bufio.Reader
	long []byte // the line read last, if it is longer than r's buffer
}

// next returns the next line without its end, valid until the next call. Its error is errLongLine
// after a line that is too long, which is passed over, and io.EOF after the last one.
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

// rest reads on to the end of a line.
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
