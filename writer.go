package fleetlimit

import (
	"io"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A responseWriter sets our headers when the response starts, so that headers of the same names which the next handlers
// set, such as those of an upstream, are replaced.
type responseWriter struct {
	caddyhttp.ResponseWriterWrapper
	rec     *requestState
	request *http.Request
	state   writerState
}

type writerState uint8

const (
	idle    writerState = iota // not between the handlers
	pending                    // for the response to start
	committed
)

// wrap returns w with the record's headers. Of several handlers on one request, the first wraps the writer for all.
func (rec *requestState) wrap(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	if rec.headers.set == noHeaders || rec.writer.state == pending {
		return w
	}
	rec.writer = responseWriter{rec: rec, request: r, state: pending}
	rec.writer.ResponseWriter = w
	return &rec.writer
}

// unwrap is called when the next handlers are done. When they have failed, the error routes go on with the writer below
// ours, which therefore gets the headers at once; when they have written nothing, the server is about to.
func (rec *requestState) unwrap() {
	rec.writer.start()
	rec.headers.removeTrailers(rec.writer.Header())
	rec.writer.state = idle
}

// start sets the headers when the response starts.
func (w *responseWriter) start() {
	if w.state != pending {
		return
	}
	w.state = committed
	h := w.Header()
	w.rec.headers.write(h)
	w.rec.headers.removeAnnounced(h)
	expose(h, w.request)
}

// WriteHeader implements http.ResponseWriter. Of the informational statuses only 101 ends the headers.
func (w *responseWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.start()
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.start()
	return w.ResponseWriter.Write(p)
}

// ReadFrom implements io.ReaderFrom.
func (w *responseWriter) ReadFrom(r io.Reader) (int64, error) {
	w.start()
	return w.ResponseWriterWrapper.ReadFrom(r)
}

// FlushError implements what http.ResponseController flushes with.
func (w *responseWriter) FlushError() error {
	w.start()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Interface guards.
var (
	_ http.ResponseWriter = (*responseWriter)(nil)
	_ io.ReaderFrom       = (*responseWriter)(nil)
)
