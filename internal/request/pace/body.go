package pace

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// A body is what a client sends, at its pace.
type body struct {
	io.ReadCloser
	pace     *Pace
	buffered []byte // and not read yet
	err      error  // what follows buffered; nil: there is more to come
	ended    atomic.Bool
}

// Body has the body of the request read at the pace of the client, unless the request has none, or
// has one that goes on beside its response by design.
func (p *Pace) Body() {
	r := p.request
	if p.body != nil || r.Body == nil || r.ContentLength == 0 || isDuplex(r) {
		return
	}
	p.body = &body{ReadCloser: r.Body, pace: p}
	r.Body = p.body
}

// isDuplex reports whether the body of a request and its response are two streams at once: those of
// gRPC and of Connect, and of a tunnel. Either side may be silent.
func isDuplex(r *http.Request) bool {
	kind := strings.ToLower(r.Header.Get("Content-Type"))
	return r.Method == http.MethodConnect || r.ProtoMajor > 1 && (strings.HasPrefix(kind, "application/grpc") ||
		strings.HasPrefix(kind, "application/connect+"))
}

// Await waits until the body is there, or as much of it as is buffered. A body of unknown length may
// go on if it has come at the least rate for a second. It reports how long that took. The reads of
// the body return what has failed.
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

// grow makes room in the buffer for up to a size: as much as has come, so that what a client only
// announces takes no memory.
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

// read reads what has not come yet.
func (b *body) read(p []byte) (int, error) {
	n, err := b.pace.read.await(func() (int, error) { return b.ReadCloser.Read(p) })
	if err != nil {
		b.ended.Store(true)
	}
	return n, err
}
