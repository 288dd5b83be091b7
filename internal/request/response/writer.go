package response

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// A responseWriter sets our headers when the response starts. So they replace headers of the same names that
// later handlers have set, such as those of an upstream.
type responseWriter struct {
	caddyhttp.ResponseWriterWrapper
	response *State
	request  *http.Request
	state    writerState
}

type writerState uint8

const (
	idle      writerState = iota // no later handler is running
	pending                      // the response has not started
	committed                    // the headers are set
)

// Serve calls next with a writer that sets the headers, and calls what OnStatus and AtEnd have
// registered. first is the index of the handler's first result. Of several handlers on one request,
// the first wraps the writer for all.
func (s *State) Serve(w http.ResponseWriter, r *http.Request, first int, next caddyhttp.Handler) (err error) {
	s.formatHeaders(first, nil, 0)
	if s.writer.state != idle || s.headers.set == noHeaders && !s.IsAwaited() {
		return next.ServeHTTP(w, r)
	}
	s.writer = responseWriter{response: s, request: r, state: pending}
	s.writer.ResponseWriter = w
	status, cut := 0, true // as they are after a panic
	defer func() {
		if s.ending != nil {
			s.ending.cut = s.ending.cut || cut
		}
		s.end(status)
	}()
	err = next.ServeHTTP(&s.writer, r)
	if s.IsAwaited() {
		status = unwrittenStatus(r.Context(), err)
		cut = err != nil || r.Context().Err() != nil
	}
	// If next has written nothing, the server is about to write. If next has failed, the error routes write
	// to w, not to our writer.
	s.writer.commit()
	s.headers.removeTrailers(w.Header())
	s.writer.state = idle
	return err
}

// start sets the headers of a response with this status.
func (w *responseWriter) start(status int) {
	if status == clientGone && w.request.Context().Err() != nil {
		status = 0
	}
	w.response.ending.start(status, w.Header())
	w.commit()
}

// commit sets the headers, once.
func (w *responseWriter) commit() {
	if w.state != pending {
		return
	}
	w.state = committed
	if v := &w.response.headers; v.set != noHeaders {
		v.write(w.Header(), w.request)
		v.removeAnnounced(w.Header())
	}
}

// WriteHeader implements http.ResponseWriter. Of the informational statuses only 101 is final.
func (w *responseWriter) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.start(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.start(http.StatusOK)
	n, err := w.ResponseWriter.Write(p)
	if e := w.response.ending; e.readsBody() {
		e.noteBody(p, err)
	}
	return n, err
}

// ReadFrom implements io.ReaderFrom.
func (w *responseWriter) ReadFrom(r io.Reader) (int64, error) {
	w.start(http.StatusOK)
	if w.response.ending.readsBody() {
		return io.Copy(struct{ io.Writer }{w}, r)
	}
	return w.ResponseWriterWrapper.ReadFrom(r)
}

// FlushError implements the method that http.ResponseController flushes with.
func (w *responseWriter) FlushError() error {
	w.start(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack implements http.Hijacker. The status is then 101, because what the handler writes need not be a
// response.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.response.ending.start(http.StatusSwitchingProtocols, w.Header())
	}
	return conn, buffered, err
}

// removeAnnounced removes trailers of our names from those that the response announces: a client
// could mistake an upstream's trailers for our headers. A trailer that is not announced before the
// response starts is not sent, unless its name has http.TrailerPrefix; see removeTrailers.
func (v *headerValues) removeAnnounced(h http.Header) {
	lists := h["Trailer"]
	if len(lists) == 0 {
		return
	}
	first, end := v.names()
	var kept []string
	for name := range strings.SplitSeq(strings.Join(lists, ","), ",") {
		name = strings.TrimSpace(name)
		if name != "" && !slices.Contains(headerNames[first:end], http.CanonicalHeaderKey(name)) {
			kept = append(kept, name)
		}
	}
	if len(kept) == 0 {
		delete(h, "Trailer")
		return
	}
	h["Trailer"] = []string{strings.Join(kept, ", ")}
}

// trailerNames are the names under which a handler sets trailers that it has not announced.
var trailerNames = func() (names [headerCount]string) {
	for i, name := range headerNames {
		names[i] = http.TrailerPrefix + name
	}
	return names
}()

// removeTrailers removes trailers of our names that were not announced. It is called after the handlers have
// written the response.
func (v *headerValues) removeTrailers(h http.Header) {
	first, end := v.names()
	for _, name := range trailerNames[first:end] {
		delete(h, name)
	}
}

// Interface guards.
var (
	_ io.ReaderFrom = (*responseWriter)(nil)
	_ http.Hijacker = (*responseWriter)(nil)
)
