package pace

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// A body is the body of a request, which is read at the pace of the client.
type body struct {
	io.ReadCloser
	pace     *Pace
	buffered []byte // bytes that have come and that Read has not returned yet
	err      error  // the error that follows buffered; nil if there is more to come
	ended    atomic.Bool
}

// Body has the body of the request read at the pace of the client. It does nothing if the request has no
// body, or one that goes on beside the response by design.
func (p *Pace) Body() {
	r := p.request
	if p.body != nil || r.Body == nil || r.ContentLength == 0 || isDuplex(r) {
		return
	}
	p.body = &body{ReadCloser: r.Body, pace: p}
	r.Body = p.body
}

// isDuplex reports whether the body of a request and its response are two streams at once, as those of gRPC,
// of Connect and of a tunnel are. In these, either side may be silent.
func isDuplex(r *http.Request) bool {
	kind := strings.ToLower(r.Header.Get("Content-Type"))
	return r.Method == http.MethodConnect || r.ProtoMajor > 1 && (strings.HasPrefix(kind, "application/grpc") ||
		strings.HasPrefix(kind, "application/connect+"))
}

// Await waits until the whole body has come, or Buffered bytes of it, and returns how long that took. For a
// body of unknown length, it waits only for a second if the body comes at leastUpload. If a read of the body
// fails, Await ends, and Read returns the error.
func (p *Pace) Await() (waited time.Duration) {
	b := p.body
	if b == nil || b.buffered != nil || b.err != nil {
		return 0
	}
	began, known := time.Now(), p.request.ContentLength
	size := mostBuffered
	if known > 0 {
		size = int(min(int64(size), known+1)) // one more byte shows the end
	}
	for b.err == nil && len(b.buffered) < mostBuffered {
		if len(b.buffered) == cap(b.buffered) {
			b.grow(size)
		}
		n, err := b.read(b.buffered[len(b.buffered):cap(b.buffered)])
		b.buffered, b.err = b.buffered[:len(b.buffered)+n], err
		waited = time.Since(began)
		if known < 0 && waited >= time.Second && time.Duration(len(b.buffered))*time.Second >= leastUpload*waited {
			break
		}
	}
	return waited
}

// grow enlarges the buffer, up to a size. The buffer grows with the bytes that have come, so that a length
// that a client only announces takes no memory.
func (b *body) grow(size int) {
	more := make([]byte, len(b.buffered), max(len(b.buffered)+1, min(size, max(512, 4*len(b.buffered)))))
	copy(more, b.buffered)
	b.buffered = more
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if len(b.buffered) > 0 {
		n := copy(p, b.buffered)
		b.buffered = b.buffered[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.read(p)
}

// read waits for more of the body and reads it.
func (b *body) read(p []byte) (int, error) {
	n, err := b.pace.read.await(func() (int, error) { return b.ReadCloser.Read(p) })
	if err != nil {
		b.ended.Store(true)
	}
	return n, err
}
