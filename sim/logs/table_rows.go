package logs

import (
	"fmt"
	"slices"
	"strings"
)

// A tableRows reads values between commas or tabs for a RowReader. The first line names the columns.
type tableRows struct {
	tableFormat
	reader RowReader
	wants  []Want
	places []int // of wants among the columns; -1: not there
	row    Row
}

// NewTableRows returns the format of tables for a reader. Of f, it uses the instant and the duration.
func NewTableRows(f Fields, comma rune, r RowReader) Format {
	f.Key, f.Cost = "", ""
	return &tableRows{tableFormat: tableFormat{fields: f, comma: comma}, reader: r, wants: r.Wants()}
}

func (t *tableRows) Record(line []byte) (Record, error) {
	values, err := t.split(line)
	switch {
	case err != nil:
		return Record{}, err
	case t.names == nil:
		if err := t.header(values); err != ErrNoRecord {
			return Record{}, err
		}
		return Record{}, t.place(values)
	}
	t.row.reset(len(t.wants))
	for i, place := range t.places {
		if place >= 0 && place < len(values) && values[place] != "" {
			t.row.add(i, []byte(values[place]))
		}
	}
	r, err := t.reader.Read(&t.row)
	return finish(r, err, &t.clock, t.text(values, timeRole), t.text(values, durationRole))
}

// place finds the columns that the reader wants.
func (t *tableRows) place(names []string) error {
	for _, want := range t.wants {
		i := slices.Index(names, want.String())
		if i < 0 && want.For != "" {
			return &StopError{fmt.Errorf("the table has no column %s, which %s needs: use a log that has it, or --limit and --key "+
				"with one of %s", want, want.For, strings.Join(names, ", "))}
		}
		t.places = append(t.places, i)
	}
	return ErrNoRecord
}
