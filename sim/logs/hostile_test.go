package logs

import (
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/fleetlimit/fleetlimit/sim"
)

// An endless reader repeats a text, up to a number of bytes.
type endless struct {
	text string
	left int
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), e.left)], e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	e.left -= n
	return n, nil
}

// TestMemoryOfHostileLogs reads files that are no logs. Their lines are counted as unreadable, or
// reading ends with an error, in bounded memory.
func TestMemoryOfHostileLogs(t *testing.T) {
	const size, most = 24 << 20, 16 << 20
	const caddy = `{"ts":1700000000,"request":{"client_ip":"192.0.2.1"}}` + "\n"
	pack := func(w func(io.Writer) io.WriteCloser, text io.Reader) io.Reader {
		r, pipe := io.Pipe()
		go func() {
			packed := w(pipe)
			_, err := io.Copy(packed, text)
			_ = pipe.CloseWithError(errors.Join(err, packed.Close()))
		}()
		return r
	}
	gz := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	zst := func(w io.Writer) io.WriteCloser {
		z, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest)) // valid options
		return z
	}
	noise := make([]byte, 1<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	line := `{"ts":1700000000,"x":"` + strings.Repeat("y", 10<<20) + `"}` + "\n"
	for _, test := range []struct {
		name string
		log  io.Reader
	}{
		{"no newline", &endless{text: "{", left: size}},
		{"lines of 10 MB", &endless{text: line, left: size}},
		{"zeros", &endless{text: "\x00", left: size}},
		{"binary", &endless{text: string(noise), left: size}},
		{"newlines", &endless{text: "\n", left: size / 8}},
		{"deep", &endless{text: strings.Repeat("[", 1000) + "\n", left: size / 8}},
		{"gzip of one line", pack(gz, &endless{text: "{", left: size})},
		{"gzip of equal lines", pack(gz, &endless{text: "x\n", left: size / 8})},
		{"zstd of one line", pack(zst, &endless{text: "\x00", left: size})},
		{"cut gzip", io.LimitReader(pack(gz, &endless{text: caddy, left: size / 8}), 10_000)},
	} {
		for _, format := range []string{"json", "csv", "combined"} {
			if format != "json" && strings.Contains(test.name, " of ") {
				continue // a pipe can be read only once
			}
			before := live()
			var f Format
			switch format {
			case "json":
				f = NewJSON(CaddyFields, Keys("request.client_ip", ""))
			case "csv":
				f = NewTable(Fields{Time: "ts"}, ',', Keys("key", ""))
			case "combined":
				f, _ = NewCombined(1, Keys("request.client_ip", ""))
			}
			watched := &watcher{Reader: test.log}
			lines, err := Open(watched)
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			keys := new(sim.Keys)
			summaries, err := Read([]Source{{Name: "log", Lines: lines, Format: f}}, keys, 0, 0, func(sim.Arrival) {})
			if peak := max(watched.peak, before) - before; peak > most {
				t.Errorf("%s as %s: %d MB are in use, want at most %d", test.name, format, peak>>20, most>>20)
			}
			if strings.HasPrefix(test.name, "cut") {
				if format == "json" && err == nil {
					t.Errorf("%s: no error", test.name)
				}
			} else if err == nil && summaries[0].Requests > 0 {
				t.Errorf("%s as %s: %d requests, want none", test.name, format, summaries[0].Requests)
			}
			if e, is := test.log.(*endless); is {
				e.left, e.at = size/8, 0
			}
		}
	}
}

// A watcher measures the memory in use while a log is read.
type watcher struct {
	io.Reader
	read, next int
	peak       uint64
}

func (w *watcher) Read(p []byte) (int, error) {
	if w.read >= w.next {
		w.peak, w.next = max(w.peak, live()), w.read+4<<20
	}
	n, err := w.Reader.Read(p)
	w.read += n
	return n, err
}

func live() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemoryOfOneInstant has more lines at one instant than an order holds back. None of them is lost.
func TestMemoryOfOneInstant(t *testing.T) {
	o := order{bound: sortBound}
	for i := range maxHeld + 10 {
		o.add(sim.Arrival{At: 1_700_000_000_000_000, Key: sim.Key(i)})
	}
	for want := range sim.Key(10) {
		if r, ok := o.next(false); !ok || r.Key != want {
			t.Fatalf("next = %+v, %v, want the request of key %d", r, ok, want)
		}
	}
	if _, ok := o.next(false); ok {
		t.Error("a request leaves although one of the same minute may be earlier")
	}
}
