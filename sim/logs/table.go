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
	if len(line) == 0 {
		return Record{}, errNoRecord
	}
	r := csv.NewReader(bytes.NewReader(line))
	r.Comma, r.LazyQuotes = t.comma, t.comma == '\t'
	values, err := r.Read()
	if err != nil {
		return Record{}, fmt.Errorf("the line is not a row of the table: %w", err)
	}
	if t.names == nil {
		return Record{}, t.header(values)
	}
	var texts [4][]byte
	for role, column := range t.columns {
		if column >= 0 && column < len(values) {
			texts[role] = []byte(values[column])
		}
	}
	return t.fields.newRecord(&t.clock, texts[timeRole], texts[durationRole], texts[keyRole], texts[costRole])
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
	return errNoRecord
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
