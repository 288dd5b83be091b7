package evaluate

import (
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/request/response"
	"github.com/fleetlimit/fleetlimit/internal/request/tokenusage"
)

// An answer is what charges read of a response. All charges of a request share it, so that the body
// is read once.
type answer struct {
	response *response.State
	copied   bool               // the response is that of an upstream
	text     bool               // the body is text or JSON
	body     *tokenusage.Reader // nil if the body cannot be read, or has not begun
}

// awaitAnswer returns the answer that the request is about to get.
func (s *requestState) awaitAnswer() *answer {
	if s.answer == nil {
		a := &answer{response: &s.State}
		s.answer = a
		s.OnStatus(a.begin)
		s.OnBody(a.read)
		s.AtEnd(func(int) { s.answer = nil }) // an error route may give another answer
	}
	return s.answer
}

// begin is called when the response starts. Other handlers may remove its headers after that.
func (a *answer) begin(int) {
	h := a.response.Header()
	a.copied = isCopied(h)
	kind := h.Get("Content-Type")
	a.text = tokenusage.IsText(kind)
	if encoding := h.Get("Content-Encoding"); encoding == "" || strings.EqualFold(encoding, "identity") {
		a.body = tokenusage.NewReader(kind)
	}
}

// read reads what was sent of the body.
func (a *answer) read(p []byte) {
	if a.body != nil {
		a.body.Read(p)
	}
}

// tokens returns how many tokens the request has used, as far as the body states that. known is false if the
// body does not state it for the whole response.
func (a *answer) tokens() (n int64, known bool) {
	if a.body == nil {
		return 0, false
	}
	n, known = a.body.Tokens()
	return n, known && !a.isCut()
}

// events returns how many server-sent events with data the body has had.
func (a *answer) events() int64 {
	if a.body == nil {
		return 0
	}
	return a.body.Events()
}

// content returns how many bytes of text that a model may have written were sent to the client. For a stream,
// that is the content of its events. For a text or JSON that was cut off or cannot be read, that is the whole
// body. A whole document that states no cost was not written by a model.
func (a *answer) content() int64 {
	switch {
	case a.body != nil && a.body.IsStream():
		return a.body.Content()
	case a.text && (a.body == nil || a.isCut()):
		return a.response.Sent()
	}
	return 0
}

// isCut reports whether the client has not got the whole body.
func (a *answer) isCut() bool { return a.response.IsCut() && !a.body.Ended() }
