package logs

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
)

// A tableFormat reads values between commas or tabs. The first line names the columns.
type tableFormat struct {
	clock
	fields  Fields
	comma   rune
	columns [4]int // by role; -1: not there. nil names: not read yet
	names   []string
}

// NewTable returns the format of tables whose values are between commas, or other characters.
func NewTable(f Fields, comma rune) Format { return &tableFormat{fields: f, comma: comma} }

func (t *tableFormat) Record(line []byte) (Record, error) {
	values, err := t.split(line)
	switch {
	case err != nil:
		return Record{}, err
	case t.names == nil:
		return Record{}, t.header(values)
	}
	return t.fields.newRecord(&t.clock, t.text(values, timeRole), t.text(values, durationRole), t.text(values, keyRole), t.text(values, costRole))
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

// text returns the value of a row for a role, nil if there is none.
func (t *tableFormat) text(values []string, r role) []byte {
	if column := t.columns[r]; column >= 0 && column < len(values) {
		return []byte(values[column])
	}
	return nil
}

// header reads the names of the columns.
func (t *tableFormat) header(names []string) error {
	for role, name := range []string{t.fields.Time, t.fields.Duration, t.fields.Key, t.fields.Cost} {
		t.columns[role] = slices.Index(names, name)
		if name != "" && t.columns[role] < 0 {
			return &HeaderError{name, names}
		}
	}
	t.names = names
	return ErrNoRecord
}

// A HeaderError is the error of a table that has no column of a name.
type HeaderError struct {
	Name    string
	Columns []string
}

func (e *HeaderError) Error() string {
	return fmt.Sprintf("the table has no column %q: use one of %s", e.Name, strings.Join(e.Columns, ", "))
}

func (t *tableFormat) Instants() string { return t.clock.String() }
