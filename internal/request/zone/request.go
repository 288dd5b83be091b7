package zone

import (
	"net/http"
	"net/url"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/text/pathpattern"
	"github.com/fleetlimit/fleetlimit/internal/text/pathreading"
)

// A Request is a request as zones read it. The keys that they read stay in its buffer.
type Request struct {
	HTTP *http.Request
	Repl *caddy.Replacer
	Vars map[string]any // Caddy's variables of the request; nil if there are none

	SentIP string // the address of the client as it came, while Vars have its IPv4 address; "" if Vars have it

	clock time.Time // when this machine's clock was read; zero if it was not

	current  readPath  // the path as it is
	original *readPath // as the client has sent it; nil if it is not read, or is the current path

	places  [mostPlaces]int // the buffer of placesOf
	numbers [8]int          // the buffer of Index.Append

	freeKeys []byte    // the unused end of keys, or of a larger buffer in its place; nil if all
	keys     [256]byte // the buffer of keys, one after the other
}

// mostPlaces is at how many endpoints a request may be: two for each reading.
const mostPlaces = 2 * pathreading.Most

// PutClientIP makes text the address of the client in Vars. restore undoes that.
func (r *Request) PutClientIP(text string) (restore func()) {
	vars, before := r.Vars, r.Vars[caddyhttp.ClientIPVarKey]
	vars[caddyhttp.ClientIPVarKey] = text
	return func() { vars[caddyhttp.ClientIPVarKey] = before }
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

// A readPath is a path of the request, once it is read.
type readPath struct {
	found *pathpattern.Path // nil if it is not read
	err   error
	own   pathpattern.Path // found, unless the handlers of the request share that
}

// path returns the path of the request, as it is or as the client has sent it, with its readings. The
// error is why no server should get it.
func (r *Request) path(original bool) (*pathpattern.Path, error) {
	u, p := r.HTTP.URL, &r.current
	if original {
		if sent := r.sentURL(); sent.Path != u.Path || sent.RawPath != u.RawPath {
			if r.original == nil {
				r.original = new(readPath)
			}
			u, p = sent, r.original
		}
	}
	if p.found == nil {
		p.found, p.err = p.own.Read(u, r.Vars)
	}
	return p.found, p.err
}

// sentURL returns the URL of the request before any handler has changed it.
func (r *Request) sentURL() *url.URL {
	if original, is := r.HTTP.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); is && original.URL != nil {
		return original.URL
	}
	return r.HTTP.URL
}
