package logs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/buger/jsonparser"
)

// A jsonFormat reads lines that are JSON objects.
type jsonFormat struct {
	clock
	fields Fields
	reader RowReader
	paths  [][]string // of the wanted fields, then of the instant, then of the duration
	wanted int        // number of fields that the reader wants
	row    Row
	failed error
}

// NewJSON returns the format of lines that are JSON objects, for a reader.
func NewJSON(f Fields, r RowReader) Format {
	j := &jsonFormat{fields: f, reader: r}
	for _, want := range r.Wants() {
		j.paths = append(j.paths, want.Path)
	}
	j.wanted = len(j.paths)
	j.paths = append(j.paths, strings.Split(f.Time, "."))
	if f.Duration != "" {
		j.paths = append(j.paths, strings.Split(f.Duration, "."))
	}
	return j
}

var (
	errNoObject = errors.New("the line is not a JSON object")
	errReturn   = errors.New("the line has a carriage return within: use a log whose lines end with a line feed")
	errCut      = errors.New("the line is cut: it does not end with }")
)

func (j *jsonFormat) Record(line []byte) (Record, error) {
	switch {
	case len(line) == 0:
		return Record{}, ErrNoRecord
	case line[0] != '{':
		return Record{}, errNoObject
	case line[len(line)-1] != '}':
		return Record{}, errCut
	case bytes.IndexByte(line, '\r') >= 0: // several lines, of which only the first would be read
		return Record{}, errReturn
	}
	j.row.reset(j.wanted + 2)
	j.failed = nil
	jsonparser.EachKey(line, j.found, j.paths...)
	switch {
	case j.failed != nil:
		return Record{}, fmt.Errorf("the line is not JSON: %w", j.failed)
	case j.row.First(j.wanted) == nil:
		return Record{}, fmt.Errorf("the line has no %s", j.fields.Time)
	}
	r, err := j.reader.Read(&j.row)
	return finish(r, err, &j.clock, j.row.First(j.wanted), j.row.First(j.wanted+1))
}

// found adds a value of path i to the row.
func (j *jsonFormat) found(i int, value []byte, kind jsonparser.ValueType, err error) {
	if err == nil && kind == jsonparser.Array {
		_, err = jsonparser.ArrayEach(value, func(element []byte, kind jsonparser.ValueType, _ int, err error) {
			j.found(i, element, kind, err)
		})
	} else if err == nil {
		switch kind {
		case jsonparser.String:
			if value, err = unescaped(value); err == nil {
				j.row.add(i, value)
			}
		case jsonparser.Number, jsonparser.Boolean:
			j.row.add(i, value)
		}
	}
	if err != nil && j.failed == nil {
		j.failed = err
	}
}

// unescaped returns the text of a JSON string. It allocates only if the string has a backslash.
func unescaped(value []byte) ([]byte, error) {
	if bytes.IndexByte(value, '\\') < 0 {
		return value, nil
	}
	text, err := jsonparser.Unescape(value, nil)
	if err != nil {
		return nil, fmt.Errorf("a value is not a JSON string: %w", err)
	}
	return text, nil
}

func (j *jsonFormat) Instants() string { return j.clock.String() }
