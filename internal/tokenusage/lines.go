package tokenusage

import "bytes"

// lines finds the data fields of a stream of server-sent events, whose lines end with LF, CRLF or
// CR. It keeps no line.
type lines struct {
	state   lineState
	name    [4]byte // of the field, which is data if it has this length
	length  int     // of the name; more than it has room for: it is another field
	afterCR bool    // an LF belongs to the end of the line before
}

type lineState uint8

const (
	inName     lineState = iota // at the start of a line, or in the name of its field
	afterColon                  // of a data field
	inData
	inOther // a field that does not matter
)

// read reads the next bytes of a stream, and hands data fields and ends of events to r.
func (l *lines) read(p []byte, r *Reader) {
	hasCR := bytes.IndexByte(p, '\r') >= 0
	for len(p) > 0 {
		c := p[0]
		if l.afterCR {
			if l.afterCR = false; c == '\n' {
				p = p[1:]
				continue
			}
		}
		switch {
		case c == '\n' || c == '\r':
			l.endLine(c, r)
			p = p[1:]
		case l.state == inName && l.length == 0 && len(p) > len(dataField) && string(p[:len(dataField)]) == dataField:
			l.state = afterColon
			r.beginData()
			p = p[len(dataField):]
		case l.state == inName:
			l.readName(c, r)
			p = p[1:]
		case l.state == afterColon:
			if l.state = inData; c == ' ' {
				p = p[1:]
			}
		default:
			n := endOfLine(p, hasCR)
			if l.state == inData {
				r.keep(p[:n])
			}
			p = p[n:]
		}
	}
}

// readName reads a byte of the name of a field.
func (l *lines) readName(c byte, r *Reader) {
	switch {
	case c != ':' && l.length < len(l.name):
		l.name[l.length] = c
		l.length++
	case c == ':' && string(l.name[:l.length]) == "data":
		l.state = afterColon
		r.beginData()
	default:
		l.state = inOther
	}
}

// endLine ends a line, by c. An empty one ends an event.
func (l *lines) endLine(c byte, r *Reader) {
	if l.state == inName && l.length == 0 {
		r.endEvent()
	}
	*l = lines{afterCR: c == '\r'}
}

// dataField is how a line with data begins.
const dataField = "data:"

// endOfLine returns the index of the first CR or LF in p, or its length.
func endOfLine(p []byte, hasCR bool) int {
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		p = p[:i]
	}
	if hasCR {
		if i := bytes.IndexByte(p, '\r'); i >= 0 {
			return i
		}
	}
	return len(p)
}
