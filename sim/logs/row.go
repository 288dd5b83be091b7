package logs

import "strings"

// A Want is a field that a [RowReader] wants, by its name in Caddy's access log. Path has the parts of
// that name: request.headers.X-Api-Key has three.
type Want struct {
	Path []string

	// For is what needs the field, such as a placeholder, for error texts. It is "" if lines need not
	// have the field.
	For string

	// Maybe says that the log can have the field, but that some lines, or all, may lack it.
	Maybe bool
}

// String returns the name of the field. Tables have a column of that name.
func (w Want) String() string { return strings.Join(w.Path, ".") }

// A Row has the values of the wanted fields of a line, in the order of [RowReader.Wants]. A list has
// several values. The values are valid until the next line is read.
type Row struct{ values [][][]byte }

// All returns all values of a field.
func (r *Row) All(i int) [][]byte { return r.values[i] }

// First returns the first value of a field, or nil.
func (r *Row) First(i int) []byte {
	if len(r.values[i]) == 0 {
		return nil
	}
	return r.values[i][0]
}

func (r *Row) reset(fields int) {
	if r.values == nil {
		r.values = make([][][]byte, fields)
	}
	for i := range r.values {
		r.values[i] = r.values[i][:0]
	}
}

func (r *Row) add(i int, value []byte) { r.values[i] = append(r.values[i], value) }

// A RowReader makes records of rows: it knows the key of a request. If it makes a record without an
// instant, the format sets the instant at which the request arrived.
type RowReader interface {
	Wants() []Want

	// Read returns the record of a row. The error may be ErrNoRecord, ErrKeyless or a StopError.
	Read(*Row) (Record, error)
}

// A StopError is an error that each line would have, so reading ends.
type StopError struct{ Err error }

func (e *StopError) Error() string { return e.Err.Error() }
func (e *StopError) Unwrap() error { return e.Err }

// finish sets the instant of a record by the line's instant at and duration took. If the record has an
// instant, finish does not read at.
func finish(r Record, err error, c *clock, at, took []byte) (Record, error) {
	if err != nil {
		return r, err
	}
	if r.At != 0 {
		c.recorded = true
		return r, nil
	}
	if r.At, err = c.read(at); err != nil {
		return Record{}, err
	}
	if len(took) > 0 {
		d, err := duration(took)
		if err != nil {
			return Record{}, err
		}
		r.At -= d
	}
	return r, nil
}
