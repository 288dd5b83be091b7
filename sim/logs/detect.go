package logs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// buffer is the number of bytes of a log that are read at once.
const buffer = 128 << 10

// Open returns a reader of the log in r. It unpacks gzip and zstd, and skips the byte order mark that
// programs on Windows write.
func Open(r io.Reader) (*bufio.Reader, error) {
	unpacked, err := unpack(r)
	if err != nil {
		return nil, notWhole(err)
	}
	const mark = "\uFEFF"
	if begin, _ := unpacked.Peek(len(mark)); string(begin) == mark { // the next read returns the error of Peek
		_, err = unpacked.Discard(len(mark))
	}
	return unpacked, err
}

// notWhole returns the error about a log that cannot be read to its end.
func notWhole(err error) error {
	return fmt.Errorf("%w: use a log that can be read to its end", err)
}

func unpack(r io.Reader) (*bufio.Reader, error) {
	packed := bufio.NewReaderSize(r, buffer)
	begin, err := packed.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		unpacked, err := gzip.NewReader(packed)
		return bufio.NewReaderSize(unpacked, buffer), err
	case bytes.Equal(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		const memory = 64 << 20
		unpacked, err := zstd.NewReader(packed, zstd.WithDecoderMaxMemory(memory), zstd.WithDecoderConcurrency(1))
		return bufio.NewReaderSize(unpacked, buffer), err
	}
	return packed, nil
}

// Detect returns the name of the format of a log, by the first line: json, combined, csv or tsv.
func Detect(log *bufio.Reader) (string, error) {
	begin, err := log.Peek(4096)
	if len(begin) == 0 {
		if err == io.EOF {
			err = fmt.Errorf("the log is empty: use one with requests")
		}
		return "", err
	}
	line, _, _ := bytes.Cut(begin, []byte("\n"))
	text := strings.TrimSpace(string(line))
	switch {
	case strings.HasPrefix(text, "{"):
		return "json", nil
	case strings.Contains(text, " [") && strings.Contains(text, "] "):
		return "combined", nil
	case strings.Contains(text, "\t"):
		return "tsv", nil
	case strings.Contains(text, ","):
		return "csv", nil
	}
	return "", fmt.Errorf("the first line is of no known format: %.60q: use --format", text)
}
