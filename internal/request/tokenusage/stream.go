package tokenusage

import "bytes"

// A stream follows the lines of server-sent events, which end with LF, CRLF or CR.
type stream struct {
	json follower

	field   field
	name    token // the name of the field while field is undecided, then the value of an event field
	empty   bool  // the line is empty so far
	afterCR bool  // the line before has ended with CR

	hasData bool // the event has data
	done    int  // how many bytes of doneMark the data has; -1 if the data is something else
	events  int64
}

// A field is the kind of a line.
type field uint8

const (
	undecided field = iota
	dataField
	eventField
	otherField
)

// doneMark is the data that follows the last event.
const doneMark = "[DONE]"

// read reads the next bytes of the stream. Each byte is searched for LF once, and for CR once.
func (s *stream) read(p []byte) {
	next := func(from int, end byte) int {
		if n := bytes.IndexByte(p[from:], end); n >= 0 {
			return from + n
		}
		return len(p)
	}
	lf, cr := next(0, '\n'), next(0, '\r')
	for at := 0; at < len(p); {
		end := min(lf, cr)
		if at < end {
			s.empty, s.afterCR = false, false
			s.readLine(p[at:end])
		}
		switch {
		case end == len(p):
			return
		case end == lf:
			if !s.afterCR {
				s.endLine()
			}
			s.afterCR, lf = false, next(end+1, '\n')
		default:
			s.endLine()
			s.afterCR, cr = true, next(end+1, '\r')
		}
		at = end + 1
	}
}

// readLine reads the next bytes of a line.
func (s *stream) readLine(p []byte) {
	if s.field == undecided {
		n := bytes.IndexByte(p, ':')
		if n < 0 {
			s.name.add(p)
			return
		}
		s.name.add(p[:n])
		p = p[n+1:]
		s.beginField()
	}
	switch s.field {
	case dataField:
		if s.done >= 0 {
			s.readMark(p)
		}
		s.json.read(p)
	case eventField:
		s.name.add(p)
	}
}

// beginField begins the value of the field whose name was read.
func (s *stream) beginField() {
	switch string(s.name.text()) {
	case "data":
		s.field = dataField
		if !s.hasData {
			s.hasData = true
			s.events++
		}
	case "event":
		s.field, s.name.length = eventField, 0
	default:
		s.field = otherField
	}
}

// readMark compares data with doneMark. If the data is doneMark, the response has ended, and the event does
// not count, because no model has written it.
func (s *stream) readMark(p []byte) {
	for _, c := range p {
		switch {
		case c == ' ' && s.done == 0:
		case c != doneMark[s.done]:
			s.done = -1
			return
		case s.done == len(doneMark)-1:
			s.done = -1
			s.json.ended = true
			s.events--
			return
		default:
			s.done++
		}
	}
}

// endLine ends a line. An empty line ends an event.
func (s *stream) endLine() {
	switch {
	case s.empty:
		s.json.next()
		s.hasData, s.done = false, 0
	case s.field == dataField:
		s.json.read([]byte{'\n'})
	case s.field == eventField:
		s.json.last = s.json.last || isLast(bytes.TrimPrefix(s.name.text(), []byte{' '}))
	}
	s.field, s.name.length, s.empty = undecided, 0, true
}
