package logs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// combinedPaths are the fields that a line in the combined format can have, by their names in Caddy's
// log.
var combinedPaths = []string{
	"request.client_ip", "request.remote_ip", "user_id", "request.method", "request.uri", "request.proto", "status",
	"request.headers.Referer", "request.headers.User-Agent",
}

// A combinedFormat reads the common and the combined log format of Apache and nginx:
//
//	192.0.2.1 - alice [10/Oct/2024:13:55:36 +0000] "GET / HTTP/1.1" 200 512 ...
//
// Its instants are whole seconds, so the requests of a second are spread over it.
type combinedFormat struct {
	clock
	spread *rand.Rand
	reader RowReader
	places []int // of the wanted fields, as indexes of combinedPaths; -1 if the format has no such field
	row    Row
}

// NewCombined returns the combined format for a reader. It returns an error if the reader needs a field
// that the format does not have. seed determines the spread of requests over a second.
func NewCombined(seed uint64, r RowReader) (Format, error) {
	c := &combinedFormat{reader: r, spread: rand.New(rand.NewPCG(seed, 0))}
	for _, want := range r.Wants() {
		place := slices.Index(combinedPaths, want.String())
		if place < 0 && want.For != "" {
			return nil, fmt.Errorf("the combined log format has no %s, which %s needs: use a log of Caddy, or a table", want, want.For)
		}
		c.places = append(c.places, place)
	}
	return c, nil
}

func (c *combinedFormat) Record(line []byte) (Record, error) {
	at, words, rest, err := c.parse(line)
	if err != nil {
		return Record{}, err
	}
	values := make([][]byte, len(combinedPaths))
	values[0], values[1], values[2] = words[0], words[0], words[2]
	asked, rest := quoted(rest)
	copy(values[3:6], bytes.Fields(asked))
	if numbers, after, found := bytes.Cut(rest, []byte(`"`)); found || len(numbers) > 0 {
		if fields := bytes.Fields(numbers); len(fields) > 0 {
			values[6] = fields[0]
		}
		if found {
			values[7], rest = quoted(append([]byte(`"`), after...))
			values[8], _ = quoted(rest)
		}
	}
	c.row.reset(len(c.places))
	for i, place := range c.places {
		if place >= 0 && len(values[place]) > 0 && string(values[place]) != "-" {
			c.row.add(i, values[place])
		}
	}
	r, err := c.reader.Read(&c.row)
	if r.At == 0 {
		r.At = at
	}
	return r, err
}

// parse returns the instant of a line, the words before the instant, and the rest behind it.
func (c *combinedFormat) parse(line []byte) (at limiter.Instant, words [][]byte, rest []byte, err error) {
	if len(line) == 0 {
		return 0, nil, nil, ErrNoRecord
	}
	open, end := bytes.IndexByte(line, '['), bytes.IndexByte(line, ']')
	words = bytes.Fields(line[:max(0, open)])
	if open < 0 || end < open || len(words) < 3 {
		return 0, nil, nil, fmt.Errorf("%.40q is not in the combined log format", line)
	}
	if at, err = c.read(line[open+1 : end]); err != nil {
		return 0, nil, nil, err
	}
	const second = 1_000_000
	return at + limiter.Instant(c.spread.IntN(second)), words, line[end+1:], nil
}

// quoted returns the text between the first two quotation marks, and the rest behind it. A backslash
// keeps the next byte from ending the text.
func quoted(text []byte) (inside, rest []byte) {
	open := bytes.IndexByte(text, '"')
	if open < 0 {
		return nil, nil
	}
	for i := open + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[open+1 : i], text[i+1:]
		}
	}
	return text[open+1:], nil
}

func (c *combinedFormat) Instants() string { return c.clock.String() + ", spread over their second" }
