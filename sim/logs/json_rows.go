package logs

import (
	"fmt"
	"strings"

	"github.com/buger/jsonparser"
)

// A jsonRows reads a JSON object per line for a RowReader.
type jsonRows struct {
	clock
	fields Fields
	reader RowReader
	paths  [][]string // those that the reader wants, then that of the instant, then that of the duration
	wanted int        // how many the reader wants
	row    Row
	failed error
}

// NewJSONRows returns the format of lines that are JSON objects, for a reader. Of f, it uses the instant
// and the duration.
func NewJSONRows(f Fields, r RowReader) Format {
	j := &jsonRows{fields: f, reader: r}
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

func (j *jsonRows) Record(line []byte) (Record, error) {
	if err := checkObject(line); err != nil {
		return Record{}, err
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

// found takes a value that the line has for a path.
func (j *jsonRows) found(i int, value []byte, kind jsonparser.ValueType, err error) {
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

func (j *jsonRows) Instants() string { return j.clock.String() }
