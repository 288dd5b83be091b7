package tokenusage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestEventsOfCutStreams cuts long streams anywhere. Events are counted exactly, whatever the writes.
func TestEventsOfCutStreams(t *testing.T) {
	for name, event := range map[string]string{
		"chat":        "data: {\"choices\":[%s]}\n\n",
		"without LF":  "data: {\"choices\":[%s]}\r\r",
		"responses":   "event: response.output_text.delta\ndata: {\"delta\":\"%s\"}\n\n",
		"CRLF":        "event: response.output_text.delta\r\ndata: {\"delta\":\"%s\"}\r\n\r\n",
		"many fields": "id: 1\nevent: a\ndata: %s\ndata: b\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			var body strings.Builder
			var ends []int // of the part of each event up to its data
			for body.Len() < 80_000 {
				text := fmt.Sprintf(event, strings.Repeat("x", rng.IntN(200)))
				ends = append(ends, body.Len()+strings.Index(text, "data:")+len("data:"))
				body.WriteString(text)
			}
			for range 300 {
				cut, want := rng.IntN(body.Len()), int64(0)
				for want < int64(len(ends)) && ends[want] <= cut {
					want++
				}
				r := NewReader("text/event-stream")
				for rest := body.String()[:cut]; rest != ""; {
					n := min(len(rest), 1+rng.IntN(32<<10))
					r.Read([]byte(rest[:n]))
					rest = rest[n:]
				}
				if got := r.Events(); got != want {
					t.Errorf("%d events in the first %d bytes, want %d", got, cut, want)
				}
			}
		})
	}
}

// TestEventsUnlikeOthers counts the events of streams whose events differ in their lines.
func TestEventsUnlikeOthers(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		body := []byte("data: the shortest\n\n")
		want := int64(1)
		for len(body) < 60_000 {
			body = append(body, strings.Repeat(": a comment\n", rng.IntN(3))...)
			if rng.IntN(4) > 0 {
				body = append(body, strings.Repeat("data: "+strings.Repeat("x", rng.IntN(300))+"\n", 1+rng.IntN(3))...)
				want++
			}
			body = append(body, '\n')
		}
		r := NewReader("text/event-stream")
		r.Read(body)
		if got := r.Events(); got != want {
			t.Errorf("%d events, want %d", got, want)
		}
	}
}

// TestEventsOfBeginning does not count comments while the model thinks.
func TestEventsOfBeginning(t *testing.T) {
	r := NewReader("text/event-stream")
	r.Read([]byte(strings.Repeat(": processing\n\n", 200)))
	r.Read([]byte(strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"word\"}}]}\n\n", 1000)))
	if got := r.Events(); got != 1000 {
		t.Errorf("%d events, want 1000", got)
	}
}

// BenchmarkReader reads bodies of 1 MB in writes of 16 kB: a stream and a document as models write them, the
// dearest document that a client can have a model write, and the dearest stream that an upstream can send. It
// also reads the stream in writes of one event, and copies it for comparison.
func BenchmarkReader(b *testing.B) {
	const events, document = "text/event-stream", "application/json"
	chunk := `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"m",` +
		`"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}],"usage":null}` + "\n\n"
	for _, tc := range []struct {
		name, contentType, part string
		size                    int // of a write
	}{
		{"stream", events, chunk, 16 << 10},
		{"stream by event", events, chunk, len(chunk)},
		{"document", document, `Some words, and a line.\n`, 16 << 10},
		{"quotes", document, `\"`, 16 << 10},
		{"lines", events, "\r\n", 16 << 10},
		{"copy", "", chunk, 16 << 10},
	} {
		b.Run(tc.name, func(b *testing.B) {
			body := bytes.Repeat([]byte(tc.part), 1<<20/len(tc.part))
			if tc.contentType == document {
				body = append([]byte(`{"choices":[{"message":{"content":"`), body...)
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			copied := make([]byte, len(body))
			for b.Loop() {
				r := NewReader(tc.contentType)
				for n := 0; n < len(body); n += tc.size {
					if p := body[n:min(n+tc.size, len(body))]; tc.contentType != "" {
						r.Read(p)
					} else {
						copy(copied[n:], p)
					}
				}
			}
		})
	}
}
