package logs

import "strings"

// A Want is a field of lines that a [RowReader] wants, by the name that it has in Caddy's access log:
// request.headers.X-Api-Key is a path of three.
type Want struct {
	Path []string

	// For is what needs the field, such as a placeholder: errors say so. "" is a field that lines
	// need not have.
	For string

	// Maybe is a field that not each line has, and perhaps none, although the log could have it.
	Maybe bool
}

// String returns the name of the field: that of a column in tables.
func (w Want) String() string { return strings.Join(w.Path, ".") }

// A Row has the values of a line for what a [RowReader] wants, in that order. A list has several. They
// are valid until the next line is read.
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

// A RowReader makes records of rows: it knows what key a request has. If its record has no instant, that
// is when the request arrived by the other fields of the line.
type RowReader interface {
	Wants() []Want

	// Read returns the record of a row. Its error may be ErrNoRecord, ErrKeyless or a StopError.
	Read(*Row) (Record, error)
}

// A StopError is an error that is the same for all lines, so that reading ends.
type StopError struct{ Err error }

func (e *StopError) Error() string { return e.Err.Error() }
func (e *StopError) Unwrap() error { return e.Err }

// finish completes the record of a line by its instant and duration. at is not read if the record has
// an instant.
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
