package pace

import (
	"io"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// clientGone is the status that Caddy's proxy answers if the request is cancelled. A request of HTTP/1.1 is
// cancelled when a read of its body fails.
const clientGone = 499

// A Writer writes a response at the pace of its client.
type Writer struct {
	caddyhttp.ResponseWriterWrapper
	pace    *Pace
	started bool
}

// Writer returns a writer of the response.
func (p *Pace) Writer(w http.ResponseWriter) *Writer {
	return &Writer{ResponseWriterWrapper: caddyhttp.ResponseWriterWrapper{ResponseWriter: w}, pace: p}
}

// Started reports whether the response has started.
func (w *Writer) Started() bool { return w.started }

// WriteHeader implements http.ResponseWriter.
func (w *Writer) WriteHeader(status int) {
	if status == clientGone && !w.started && w.pace.BodyStalled() {
		status = http.StatusRequestTimeout
	}
	if status >= 200 || status == http.StatusSwitchingProtocols {
		w.start()
	}
	w.ResponseWriter.WriteHeader(status)
}

// start notes that the response starts. From then on, the body of a request of HTTP/2 or HTTP/3 may take any
// time.
func (w *Writer) start() {
	if !w.started && w.pace.body != nil && w.pace.request.ProtoMajor > 1 && !w.pace.BodyStalled() {
		w.pace.read.turnOff()
	}
	w.started = true
}

// Write implements http.ResponseWriter.
func (w *Writer) Write(p []byte) (written int, err error) {
	w.start()
	for {
		part := p[:min(len(p), chunk)]
		n, err := w.await(func() (int, error) { return w.ResponseWriter.Write(part) })
		written, p = written+n, p[len(part):]
		if err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// ReadFrom implements io.ReaderFrom. It calls Write for each part, because reads from r do not wait for the
// client.
func (w *Writer) ReadFrom(r io.Reader) (int64, error) { return io.Copy(struct{ io.Writer }{w}, r) }

// FlushError implements the method that http.ResponseController flushes with.
func (w *Writer) FlushError() error {
	w.start()
	_, err := w.await(func() (int, error) { return 0, http.NewResponseController(w.ResponseWriter).Flush() })
	return err
}

// await is the await of the write side. In HTTP/1.1, a server that starts a response first reads the rest of
// the body. The client has no longer for that than for other reads.
func (w *Writer) await(do func() (int, error)) (int, error) {
	if p := w.pace; p.body != nil && p.request.ProtoMajor == 1 && !p.body.ended.Load() {
		_ = p.read.deadline(time.Now().Add(p.read.remaining())) // if deadlines are not supported, nothing is bounded anyway
		defer func() {
			if !p.BodyStalled() {
				_ = p.read.deadline(time.Time{})
			}
		}()
	}
	return w.pace.write.await(do)
}
