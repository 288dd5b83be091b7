package response

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// clientGone is the status that Caddy logs, and some of its handlers write, if the client has gone
// before the response.
const clientGone = 499

// An ending has the functions to call when a response starts and when it ends. Whoever has taken something
// for the request registers here what becomes of it.
//
// The functions get the status that the client gets. It is 0 if the client gets none: because the client has
// gone, or because a handler has panicked before the response started. For an error that a handler returns,
// it is the status of the error, whichever status an error route answers. For a connection that a handler has
// hijacked, it is 101.
type ending struct {
	onStatus, atEnd []func(status int)
	onBody          []func(p []byte)

	cut          bool  // a handler or a write of the body has failed, or the client has gone
	length, sent int64 // of a body that is read: its Content-Length, -1 if there is none, and the bytes sent

	known  bool // the status is known
	status int
}

// OnStatus has f called once, when the status of the response is known: just before the response starts, or
// when it ends without having started. f must not block. OnStatus is for admitted requests, for which Serve
// is called afterwards.
func (s *State) OnStatus(f func(status int)) {
	if s.ending == nil {
		s.ending = new(ending)
	}
	if s.ending.known {
		f(s.ending.status)
		return
	}
	s.ending.onStatus = append(s.ending.onStatus, f)
}

// AtEnd has f called once, when the handlers behind this one have returned or panicked. If they have upgraded
// the connection, they return when it is closed. f must not block. AtEnd is for admitted requests, for which
// Serve is called afterwards.
func (s *State) AtEnd(f func(status int)) {
	if s.ending == nil {
		s.ending = new(ending)
	}
	s.ending.atEnd = append(s.ending.atEnd, f)
}

// OnBody has f called with the bytes of the body after they have been sent. f must not keep them. OnBody is
// for admitted requests, for which Serve is called afterwards.
//
// Bytes whose sending has failed count as sent. How many of them the client has got is not known: over
// HTTP/2, it may have been all but one.
func (s *State) OnBody(f func(p []byte)) {
	if s.ending == nil {
		s.ending = new(ending)
	}
	s.ending.onBody = append(s.ending.onBody, f)
}

// Header returns the headers of the response. Only functions that OnStatus, OnBody or AtEnd calls may use it.
func (s *State) Header() http.Header { return s.writer.Header() }

// IsCut reports, at the end of a response whose body is read, whether the client was sent less of the body
// than Content-Length says because a handler has failed or panicked, or because the client has gone. Without
// a Content-Length, each such end cuts the body.
func (s *State) IsCut() bool {
	e := s.ending
	return e.cut && (e.length < 0 || e.sent < e.length)
}

// Sent returns how many bytes of a body that is read were sent.
func (s *State) Sent() int64 { return s.ending.sent }

// readsBody reports whether OnBody was called.
func (e *ending) readsBody() bool { return e != nil && len(e.onBody) > 0 }

// noteBody notes that p was sent. err is why the sending has failed, nil if it has not.
func (e *ending) noteBody(p []byte, err error) {
	e.cut = e.cut || err != nil
	e.sent += int64(len(p))
	for _, f := range e.onBody {
		f(p)
	}
}

// IsAwaited reports whether OnStatus or AtEnd was called for the response.
func (s *State) IsAwaited() bool { return s.ending != nil }

// start notes the status and the Content-Length of the response, and calls the functions of OnStatus, before
// other handlers change the headers. It does nothing if the status is known.
func (e *ending) start(status int, h http.Header) {
	if e == nil || e.known {
		return
	}
	e.known, e.status, e.length = true, status, -1
	if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil {
		e.length = n
	}
	for _, f := range e.onStatus {
		f(status)
	}
}

// end notes that the response has ended. status is the status of a response that has not started.
func (s *State) end(status int) {
	e := s.ending
	if e == nil {
		return
	}
	e.start(status, s.writer.Header())
	for _, f := range e.atEnd {
		f(e.status)
	}
	s.ending = nil
}

// unwrittenStatus returns the status of a response that handlers have left to the server. err is what the
// handlers have returned.
func unwrittenStatus(ctx context.Context, err error) int {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return 0
	case err == nil:
		return http.StatusOK
	}
	var failed caddyhttp.HandlerError // declared here, because it escapes to the heap
	if errors.As(err, &failed) && failed.StatusCode != 0 {
		return failed.StatusCode
	}
	return http.StatusInternalServerError
}
