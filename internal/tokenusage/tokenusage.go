// Package tokenusage reads how many tokens a response of a language model has used, beside the copy
// of its body: from the last usage object of a JSON document or of a stream of server-sent events.
//
// It knows the forms of OpenAI (chat completions, responses) and Anthropic (messages), and those
// that are like them. All tokens count: those of the input, cached or not, and those of the output.
//
// Models write parts of the body, and clients write what models repeat. Neither can write a key of
// its JSON: in a string, a quote is escaped. So the text `"usage"` followed by a colon is a key.
//
// What a body says is at its end, and of a stream also at its beginning. Only these are read. All
// else is copied, and has its lines counted: a gateway that forwards a body has little time for
// each byte.
package tokenusage

import (
	"bytes"
	"sync"
)

// Kept is how many bytes of a body are kept at most, the newest. A usage object follows what the
// model has written.
const Kept = 16 << 10

// beginning is how many bytes at the beginning of a stream are read, too. Anthropic's begin with
// the usage of the input.
const beginning = 4 << 10

// A Reader reads the body of one response. The zero value reads a document.
type Reader struct {
	stream bool        // of server-sent events; else one document
	kept   []byte      // the newest bytes, of which each replaces the oldest once there are Kept
	oldest int         // the index in kept of the oldest byte
	room   *[Kept]byte // for kept; nil: there was no more than the beginning so far
	cut    bool        // bytes after the beginning are no longer kept

	events  events // those at the beginning, and the lines that follow
	found   counts
	partial bool // the newest usage object is one of a message that has just begun
}

// rooms are for bodies with more than a beginning.
var rooms = sync.Pool{New: func() any { return new([Kept]byte) }}

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
	if r.room == nil {
		n := min(len(p), beginning-len(r.kept))
		r.kept = append(r.kept, p[:n]...)
		if p = p[n:]; len(p) == 0 {
			return
		}
		r.endBeginning()
	}
	if r.stream {
		r.events.skip(p)
	}
	if n := len(p) - Kept; n >= 0 { // nothing else stays
		r.cut = r.cut || n+len(r.kept) > 0
		p, r.kept, r.oldest = p[n:], r.kept[:0], 0
	}
	n := min(len(p), Kept-len(r.kept))
	r.kept = append(r.kept, p[:n]...)
	for p = p[n:]; len(p) > 0; p = p[n:] {
		r.cut = true
		n = copy(r.kept[r.oldest:], p)
		r.oldest = (r.oldest + n) % Kept
	}
}

// endBeginning makes room for more. Of the events at the beginning of a stream, it keeps the last
// alone, which has not ended.
func (r *Reader) endBeginning() {
	if r.stream {
		r.find(r.kept)
		r.events.expectLineEnd(r.kept)
		_, r.kept = r.events.read(r.kept, false)
		r.events.skip(r.kept)
	}
	r.keep(r.kept, nil)
}

// keep keeps two texts, of which one follows the other, in another room.
func (r *Reader) keep(a, b []byte) {
	room := rooms.Get().(*[Kept]byte)
	kept := append(append(room[:0], a...), b...)
	r.Close()
	r.kept, r.room = kept, room
}

// Close ends the use of the Reader.
func (r *Reader) Close() {
	if r.room != nil {
		rooms.Put(r.room)
	}
	r.kept, r.oldest, r.room = nil, 0, nil
}

// newest returns what is kept.
func (r *Reader) newest() []byte {
	if r.oldest > 0 {
		r.keep(r.kept[r.oldest:], r.kept[:r.oldest])
	}
	return r.kept
}

// find looks for usage objects in text, which begins within a line if something was cut off.
func (r *Reader) find(text []byte) {
	if !r.stream {
		r.found.addFrom(text)
		return
	}
	withinLine := r.cut
	for i := indexUsage(text); i >= 0; i = indexUsage(text) {
		line := 1 + bytes.LastIndexAny(text[:i], "\r\n")
		e, rest := cutEvent(text[line:], withinLine && line == 0)
		if r.found.addFrom(e.data) {
			r.partial = bytes.Contains(e.data, []byte(`"message_start"`))
		}
		text, withinLine = rest, false
	}
}

// Tokens returns how many tokens the body so far says that the response has used. known is whether
// it says so for the whole response.
func (r *Reader) Tokens() (n int64, known bool) {
	r.find(r.newest())
	return r.found.total(), r.found.any && !r.partial
}

// Events returns how many events with data the body has so far, 0 if it is no stream of events. A
// model streams about one token in each.
func (r *Reader) Events() int64 {
	if !r.stream {
		return 0
	}
	all, text := r.events, r.newest()
	if r.room != nil {
		all.skipped -= all.lines(text)
	}
	last, _ := all.read(text, r.cut)
	all.add(last)
	return all.total()
}
