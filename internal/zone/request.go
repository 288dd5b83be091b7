package zone

import (
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/pathreading"
)

// A Request is a request as zones read it. The keys that they read stay in its buffer.
type Request struct {
	HTTP *http.Request
	Repl *caddy.Replacer

	clock time.Time // when this machine's clock was read; zero: it was not

	path     pathreading.Path
	pathErr  error
	pathRead bool                  // path and pathErr are set
	places   [pathreading.Most]int // the buffer of placesOf
	numbers  [8]int                // the buffer of Index.Append

	freeKeys []byte    // the unused end of keys, or of a larger buffer in its place; nil: all
	keys     [256]byte // the buffer of keys, one after the other
}

// Time returns an instant of the request, the same each time: to read the clock takes longer than
// most of what is done for a request.
func (r *Request) Time() time.Time {
	if r.clock.IsZero() {
		r.clock = time.Now()
	}
	return r.clock
}

// Renew has Time read the clock once more: the request has waited.
func (r *Request) Renew() { r.clock = time.Time{} }

// KeyBuffer returns the unused end of the buffer for keys.
func (r *Request) KeyBuffer() []byte {
	if r.freeKeys != nil {
		return r.freeKeys
	}
	return r.keys[:0]
}

// readings returns the readings of the path.
func (r *Request) readings() (*pathreading.Path, error) {
	if !r.pathRead {
		r.pathRead = true
		r.path, r.pathErr = pathreading.Read(r.HTTP.URL)
	}
	return &r.path, r.pathErr
}
