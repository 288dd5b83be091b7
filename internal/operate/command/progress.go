package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// A meter counts the bytes that are read of files.
type meter struct {
	whole int64 // bytes of all files whose size is known
	read  atomic.Int64
}

type meteredReader struct {
	io.Reader
	m *meter
}

func (r meteredReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.m.read.Add(int64(n))
	return n, err
}

func (m *meter) metered(r io.Reader) io.Reader { return meteredReader{r, m} }

// A progress shows on a terminal how far a replay is. It shows nothing elsewhere.
type progress struct {
	w        io.Writer // nil to write nowhere
	size     *meter
	begin    time.Time
	shown    time.Time
	requests int64
}

func newProgress(w io.Writer, size *meter) *progress {
	p := &progress{size: size, begin: time.Now()}
	if isTerminal(w) {
		p.w = w
	}
	return p
}

// isTerminal reports whether what is written to w is shown on a terminal.
func isTerminal(w io.Writer) bool {
	file, isFile := w.(*os.File)
	if !isFile {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) add(requests int) {
	p.requests += int64(requests)
	if now := time.Now(); p.w != nil && now.Sub(p.shown) > time.Second/5 {
		p.shown = now
		_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", p.line(now.Sub(p.begin))) // nobody may be looking
	}
}

// line says how far the replay is after this time.
func (p *progress) line(passed time.Duration) string {
	line := fmt.Sprintf("%d requests, %.0f a second", p.requests, float64(p.requests)/passed.Seconds())
	if part := float64(p.size.read.Load()) / float64(max(1, p.size.whole)); p.size.whole > 0 && part > 0 && part <= 1 {
		left := time.Duration(float64(passed) * (1 - part) / part).Round(time.Second)
		line = fmt.Sprintf("%s %.0f %%, %v left, %s", bar(part), 100*part, left, line)
	}
	return line
}

// bar draws a part of a whole.
func bar(part float64) string {
	const width = 20
	full := int(part * width)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]"
}

func (p *progress) end() {
	if p.w != nil {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
	}
}
