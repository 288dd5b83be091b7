// Package tokenusage reads how many tokens a response of a language model has used, beside the copy
// of its body: from the last usage object of a JSON document or of a stream of server-sent events.
//
// It knows the forms of OpenAI (chat completions, responses) and Anthropic (messages), and those
// that are like them. All tokens count: those of the input, cached or not, and those of the output.
//
// Models write parts of the body, and clients write what models repeat. Neither can write a key of
// its JSON: in a string, a quote is escaped. So the text `"usage"` followed by a colon is a key.
package tokenusage

import "bytes"

// Kept is how many bytes of a body are kept at most, the newest. A usage object follows what the
// model has written. Of a stream, the first as many are read, too: Anthropic's begin with the
// input.
const Kept = 16 << 10

// eventEnd separates events in what is kept. JSON has no such byte.
const eventEnd = 0

// A Reader reads the body of one response. The zero value reads a document.
type Reader struct {
	stream bool  // of server-sent events; else one document
	lines  lines // of the stream
	kept   []byte
	begun  bool // the event has a data field
	after  bool // the beginning of the stream has been scanned

	events  int64
	found   counts
	partial bool // the newest usage object is one of a message that has just begun
}

// NewReader returns a reader of a body of this media type.
func NewReader(contentType string) *Reader {
	return &Reader{stream: isEventStream(contentType)}
}

func isEventStream(contentType string) bool {
	const stream = "text/event-stream"
	return len(contentType) >= len(stream) && bytes.EqualFold([]byte(contentType[:len(stream)]), []byte(stream))
}

// Read reads the next bytes of the body.
func (r *Reader) Read(p []byte) {
	if r.stream {
		r.lines.read(p, r)
		return
	}
	r.keep(p)
}

// keep keeps the newest bytes of the data or document.
func (r *Reader) keep(p []byte) {
	if r.stream && !r.after && len(r.kept)+len(p) > Kept {
		r.scan()
		r.after = true
	}
	if len(p) >= Kept {
		r.kept = append(r.kept[:0], p[len(p)-Kept:]...)
		return
	}
	if over := len(r.kept) + len(p) - Kept; over > 0 {
		// Many bytes are dropped at a time, so that few are moved.
		over = max(over, min(len(r.kept), Kept/4))
		r.kept = append(r.kept[:0], r.kept[over:]...)
	}
	r.kept = append(r.kept, p...)
}

// beginData begins a data field of an event.
func (r *Reader) beginData() {
	if r.begun {
		r.keep([]byte{'\n'})
	}
	r.begun = true
}

// endEvent ends an event.
func (r *Reader) endEvent() {
	if !r.begun {
		return
	}
	r.begun = false
	if !bytes.HasSuffix(r.kept, []byte("[DONE]")) {
		r.events++
	}
	r.keep([]byte{eventEnd})
}

// scan looks for usage objects in what is kept.
func (r *Reader) scan() {
	for event := range bytes.SplitSeq(r.kept, []byte{eventEnd}) {
		if r.found.addFrom(event) {
			r.partial = r.stream && bytes.Contains(event, []byte(`"message_start"`))
		}
	}
}

// Tokens returns how many tokens the body so far says that the response has used. known is whether
// it says so for the whole response. The body is read no further.
func (r *Reader) Tokens() (n int64, known bool) {
	if r.stream {
		r.endEvent() // the last event may lack the empty line
	}
	r.scan()
	return r.found.total(), r.found.any && !r.partial
}

// Events returns how many events with data the body has so far, 0 if it is no stream of events. A
// model streams about one token in each.
func (r *Reader) Events() int64 { return r.events }
