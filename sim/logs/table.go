package logs

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
)

// A tableFormat reads values that are separated by commas or tabs. The first line has the names of the
// columns.
type tableFormat struct {
	clock
	fields     Fields
	comma      rune
	reader     RowReader
	wants      []Want
	named      bool  // the line of names was read
	time, took int   // columns; -1 if there is no such column
	places     []int // columns of the wanted fields; -1 if there is no such column
	row        Row
}

// NewTable returns the format of tables for a reader. comma separates the values.
func NewTable(f Fields, comma rune, r RowReader) Format {
	return &tableFormat{fields: f, comma: comma, reader: r, wants: r.Wants()}
}

func (t *tableFormat) Record(line []byte) (Record, error) {
	values, err := t.split(line)
	switch {
	case err != nil:
		return Record{}, err
	case !t.named:
		return Record{}, t.header(values)
	}
	t.row.reset(len(t.wants))
	for i, place := range t.places {
		if text := textAt(values, place); len(text) > 0 {
			t.row.add(i, text)
		}
	}
	r, err := t.reader.Read(&t.row)
	return finish(r, err, &t.clock, textAt(values, t.time), textAt(values, t.took))
}

// split returns the values of a row.
func (t *tableFormat) split(line []byte) ([]string, error) {
	if len(line) == 0 {
		return nil, ErrNoRecord
	}
	r := csv.NewReader(bytes.NewReader(line))
	r.Comma, r.LazyQuotes = t.comma, t.comma == '\t'
	values, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("the line is not a row of the table: %w", err)
	}
	return values, nil
}

// textAt returns the value in a column. It returns nil if the row has no such column.
func textAt(values []string, column int) []byte {
	if column >= 0 && column < len(values) {
		return []byte(values[column])
	}
	return nil
}

// header reads the line with the names of the columns.
func (t *tableFormat) header(names []string) error {
	t.time, t.took = slices.Index(names, t.fields.Time), slices.Index(names, t.fields.Duration)
	for _, name := range []string{t.fields.Time, t.fields.Duration} {
		if name != "" && !slices.Contains(names, name) {
			return &StopError{fmt.Errorf("the table has no column %q: use one of %s", name, strings.Join(names, ", "))}
		}
	}
	for _, want := range t.wants {
		i := slices.Index(names, want.String())
		if i < 0 && want.For != "" {
			return &StopError{fmt.Errorf("the table has no column %s, which %s needs: use a log that has it, or --limit and --key "+
				"with one of %s", want, want.For, strings.Join(names, ", "))}
		}
		t.places = append(t.places, i)
	}
	t.named = true
	return ErrNoRecord
}

func (t *tableFormat) Instants() string { return t.clock.String() }
