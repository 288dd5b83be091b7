package logs

import (
	"errors"

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

// Fields name the instant of a line. Names in JSON are paths: request.headers.X-Api-Key.
type Fields struct {
	Time     string // when the request ended, or arrived if there is no duration
	Duration string // how long it took; optional
}

// CaddyFields are the fields of Caddy's access log.
var CaddyFields = Fields{Time: "ts", Duration: "duration"}
