package logs

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// A Record is what a line says about a request. The key is valid until the next line is read.
type Record struct {
	At   limiter.Instant
	Key  []byte
	Cost int64

	Rule uint16       // see sim.Request
	Said sim.Decision // what the line says that was decided
}

// A Format reads lines of one file.
type Format interface {
	// Record returns what a line says. Its error is ErrNoRecord for a line that stands for no
	// request, as the names of a table do, and ErrKeyless for one without a key.
	Record(line []byte) (Record, error)

	// Instants says how the format has read instants.
	Instants() string
}

// The errors of lines that are no requests of a key.
var (
	ErrNoRecord = errors.New("the line is no request")
	ErrKeyless  = errors.New("the line has no key")
)

// Fields name what to read in a line. Names in JSON are paths: request.headers.X-Api-Key.
type Fields struct {
	Time     string // when the request ended, or arrived if there is no duration
	Duration string // how long it took; optional
	Key      string
	Cost     string // optional: 1
}

// newRecord returns the record of the texts of a line's fields, in the order of Fields. nil is a
// field that is not there.
func (f *Fields) newRecord(c *clock, at, took, key, cost []byte) (Record, error) {
	switch {
	case at == nil:
		return Record{}, fmt.Errorf("the line has no %s", f.Time)
	case len(key) == 0:
		return Record{}, ErrKeyless
	}
	r := Record{Key: key, Cost: 1}
	var err error
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
	if len(cost) > 0 {
		// What is no number, or below 1, counts as 1, as in the gateway.
		n, err := strconv.ParseInt(string(cost), 10, 64)
		if err == nil {
			r.Cost = min(max(1, n), limiter.MaxEvents)
		}
	}
	return r, nil
}
