// Package tokenusage reads how many tokens a response of a language model has used, while its body is copied.
// It reads the last usage object of a JSON document or of a stream of server-sent events.
//
// It knows the forms of OpenAI (chat completions, responses) and Anthropic (messages), and forms that are
// like them. All tokens count: those of the input, cached or not, and those of the output.
//
// Models write parts of the body. So do clients, whose metadata some providers repeat. A usage object
// therefore counts only at the places where the provider writes it, however much of the body comes before or
// after. Each byte is read once, and none is kept.
package tokenusage

import "strings"

// A Reader reads the body of one response.
type Reader struct {
	stream
	isStream   bool
	isDocument bool // the body is JSON; a body that is neither JSON nor a stream has no usage object
}

// NewReader returns a reader of a body of this media type. A body without a media type may be JSON.
func NewReader(contentType string) *Reader {
	kind := kindOf(contentType)
	r := &Reader{isStream: kind == "text/event-stream", isDocument: kind == "" || isJSON(kind)}
	r.empty, r.json.stream = true, r.isStream
	r.json.last = kind == "application/json" || strings.HasSuffix(kind, "+json") // a type such as x-ndjson has several documents
	return r
}

// IsText reports whether a body of this media type is text, of which a model may have written any part.
func IsText(contentType string) bool {
	kind := kindOf(contentType)
	return strings.HasPrefix(kind, "text/") || isJSON(kind)
}

// kindOf returns a media type without its parameters, in small letters.
func kindOf(contentType string) string {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// isJSON reports whether a media type is JSON, or several documents of JSON.
func isJSON(kind string) bool { return strings.Contains(kind, "json") }

// Read reads the next bytes of the body.
func (r *Reader) Read(p []byte) {
	switch {
	case r.isStream:
		r.read(p)
	case r.isDocument:
		r.json.read(p)
	}
}

// Tokens returns how many tokens the response has used, by the part of the body that has been read. known is
// false if that part does not state the tokens of the whole response.
func (r *Reader) Tokens() (n int64, known bool) {
	return r.json.found.total(), r.json.found.any && !r.json.partial
}

// Ended reports whether the body has the end that its provider writes: the outermost object of a document is
// closed, or the last event of a stream was read.
func (r *Reader) Ended() bool { return r.json.ended }

// IsStream reports whether the body is a stream of events.
func (r *Reader) IsStream() bool { return r.isStream }

// Events returns how many events with data the body has so far, 0 if it is no stream of events. A
// model streams about one token in each.
func (r *Reader) Events() int64 { return r.events }

// Content returns how many bytes of the body so far a model may have written. It returns 0 if the body is no
// stream of events.
func (r *Reader) Content() int64 { return r.json.content }
