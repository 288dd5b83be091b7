package logs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

// combinedPaths are the fields that a line in the combined format has, by their names in Caddy's log.
var combinedPaths = []string{
	"request.client_ip", "request.remote_ip", "user_id", "request.method", "request.uri", "request.proto", "status",
	"request.headers.Referer", "request.headers.User-Agent",
}

// A combinedRows reads the combined log format of Apache and nginx for a RowReader.
type combinedRows struct {
	combinedFormat
	reader RowReader
	places []int // of what the reader wants among combinedPaths; -1: not there
	row    Row
}

// NewCombinedRows returns the combined format for a reader. It is an error if the reader wants what
// the format does not have.
func NewCombinedRows(seed uint64, r RowReader) (Format, error) {
	c := &combinedRows{reader: r}
	c.spread = rand.New(rand.NewPCG(seed, 0))
	for _, want := range r.Wants() {
		place := -1
		for i, path := range combinedPaths {
			if path == want.String() {
				place = i
			}
		}
		if place < 0 && want.For != "" {
			return nil, fmt.Errorf("the combined log format has no %s, which %s needs: use a log of Caddy, or a table", want, want.For)
		}
		c.places = append(c.places, place)
	}
	return c, nil
}

func (c *combinedRows) Record(line []byte) (Record, error) {
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

// quoted returns the first text between quotation marks, and what follows it. A backslash takes the
// meaning of the next byte.
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
