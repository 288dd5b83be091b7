package logs

import (
	"errors"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// A Record is the request that a line describes. The key is valid until the next line is read.
type Record struct {
	At   limiter.Instant
	Key  []byte
	Cost int64

	Rule uint16       // see [sim.Arrival]
	Said sim.Decision // the decision that the line records
}

// A Format reads the lines of one file.
type Format interface {
	// Record returns the request that a line describes. It returns ErrNoRecord for a line that
	// describes no request, such as the names of columns, and ErrKeyless for a request without a key.
	Record(line []byte) (Record, error)

	// Instants returns a text that says in which form the log has its instants.
	Instants() string
}

// The errors for lines that do not describe a request of a key.
var (
	ErrNoRecord = errors.New("the line is no request")
	ErrKeyless  = errors.New("the line has no key")
)

// Fields are the names of the fields of a line that determine its instant. A name in JSON is a path,
// such as request.headers.X-Api-Key.
type Fields struct {
	Time     string // the instant at which the request ended, or arrived if Duration is ""
	Duration string // how long the request took; may be ""
}

// CaddyFields are the fields of Caddy's access log.
var CaddyFields = Fields{Time: "ts", Duration: "duration"}
