package zone

import (
	"net/http"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/text/httpmethod"
)

// webSocketHeaders are what Caddy adds to a request of HTTP/2 or HTTP/3 that opens a WebSocket.
var webSocketHeaders = [...]struct{ field, value string }{{"Connection", "Upgrade"}, {"Upgrade", "websocket"}}

// putPlainHeaders gives a request the headers that a proxy sends upstream: without spaces and tabs
// around the values, which HTTP/2 and HTTP/3 deliver. It changes the map itself, which placeholders
// read too. It returns the values that it has replaced, nil if there are none.
func putPlainHeaders(r *http.Request) (original http.Header) {
	put := func(field string, values []string) {
		if original == nil {
			original = make(http.Header)
		}
		original[field] = r.Header[field]
		r.Header[field] = values
	}
	for field, values := range r.Header {
		if slices.ContainsFunc(values, func(v string) bool { return trimmed(v) != v }) {
			plain := make([]string, len(values))
			for i, v := range values {
				plain[i] = trimmed(v)
			}
			put(field, plain)
		}
	}
	if httpmethod.OpensWebSocket(r) {
		for _, h := range webSocketHeaders {
			put(h.field, []string{h.value})
		}
	}
	return original
}

// putBack undoes putPlainHeaders.
func putBack(header, original http.Header) {
	for field, values := range original {
		header[field] = values
		if values == nil {
			delete(header, field)
		}
	}
}

func trimmed(value string) string { return strings.Trim(value, " \t") }
