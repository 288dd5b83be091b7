package tokenusage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestEventsOfCutStreams cuts long streams anywhere. Those whose events have equally many lines are
// counted exactly, whatever the writes.
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
					n := min(len(rest), 1+rng.IntN(2*Kept))
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

// TestEventsUnlikeOthers counts at least all events of streams whose events differ in their lines.
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
		if got := r.Events(); got < want || got > 3*want {
			t.Errorf("%d events, want at least %d", got, want)
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

// TestCommentsAfterCut reads no comment as data, though it may begin what is kept of an event.
func TestCommentsAfterCut(t *testing.T) {
	for at := range 100 {
		r := NewReader("text/event-stream")
		r.Read([]byte(strings.Repeat("data: {\"usage\":{\"total_tokens\":7}}\n\n: {\"usage\":{\"total_tokens\":9}}\n\n", 500)))
		r.Read(bytes.Repeat([]byte("\n"), at))
		if n, known := r.Tokens(); n != 7 || !known {
			t.Errorf("%d tokens, known %v, want 7", n, known)
		}
	}
}

// TestReaderIsReused reads bodies one after the other, and none has anything of another.
func TestReaderIsReused(t *testing.T) {
	long := []byte(strings.Repeat("data: {\"usage\":{\"total_tokens\":7}}\n\n", 1000))
	for range 100 {
		r := NewReader("text/event-stream")
		r.Read(long)
		if n, known := r.Tokens(); n != 7 || !known || r.Events() != 1000 {
			t.Fatalf("%d tokens, known %v, in %d events, want 7 in 1000", n, known, r.Events())
		}
		r.Close()
		r = NewReader("text/event-stream")
		r.Read(bytes.Repeat([]byte("data: x\n\n"), 1000))
		if n, known := r.Tokens(); n != 0 || known || r.Events() != 1000 {
			t.Fatalf("%d tokens, known %v, in %d events, want none in 1000", n, known, r.Events())
		}
		r.Close()
	}
}

// BenchmarkReader reads a stream of 1 MB, in writes of several sizes. The floor is what it does
// with each byte: it counts the ends of lines, and copies what may be the last bytes.
func BenchmarkReader(b *testing.B) {
	chunk := `data: {"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"m",` +
		`"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}],"usage":null}` + "\n\n"
	writes := []byte(strings.Repeat(chunk, 2*Kept/len(chunk)+1))
	var kept [Kept]byte
	lines := 0
	for _, size := range []int{len(chunk), 4 << 10, 16 << 10, 32 << 10} {
		write := writes[:size]
		run := func(name string, read func(p []byte), end func()) {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.SetBytes(1 << 20)
				b.ReportAllocs()
				for b.Loop() {
					for n := 0; n < 1<<20; n += size {
						read(write)
					}
					end()
				}
			})
		}
		r := NewReader("text/event-stream")
		run("reader", func(p []byte) { r.Read(p) }, func() {
			r.Tokens()
			r.Close()
			r = NewReader("text/event-stream")
		})
		run("floor", func(p []byte) {
			lines += bytes.Count(p, []byte{'\n'})
			copy(kept[:], p)
		}, func() {})
	}
}
