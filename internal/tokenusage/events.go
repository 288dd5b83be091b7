package tokenusage

import "bytes"

// An event is one of a stream.
type event struct {
	data  []byte // its data fields, joined by LF; nil: it has none
	lines int64  // with the empty one at its end
	ended bool
}

// cutEvent returns the first event in text, and what follows it. If text begins within a line, that
// line is taken for data.
func cutEvent(text []byte, withinLine bool) (e event, rest []byte) {
	for len(text) > 0 {
		line, rest, ended := cutLine(text)
		text = rest
		if ended {
			e.lines++
		}
		switch {
		case withinLine:
			e.addData(line)
			withinLine = false
		case len(line) == 0:
			e.ended = true
			return e, rest
		case bytes.HasPrefix(line, dataField):
			e.addData(bytes.TrimPrefix(line[len(dataField):], space))
		}
	}
	return e, nil
}

var dataField, space = []byte("data:"), []byte(" ")

// addData adds a data field.
func (e *event) addData(field []byte) {
	if e.data == nil {
		e.data = field[:len(field):len(field)] // so that others are not appended in place
		return
	}
	e.data = append(append(e.data, '\n'), field...)
}

// cutLine returns the first line of text, and what follows its end: LF, CRLF or CR. ended is false
// if text ends before that.
func cutLine(text []byte) (line, rest []byte, ended bool) {
	line, rest, ended = bytes.Cut(text, []byte{'\n'})
	i := bytes.IndexByte(line, '\r')
	switch {
	case i < 0:
		return line, rest, ended
	case i == len(line)-1 && ended:
		return line[:i], rest, true
	}
	return line[:i], text[i+1:], true
}

// events counts the events of a stream that have data.
type events struct {
	count    int64 // of those that were read
	shortest int64 // the fewest lines of one of these; 0: none was read
	skipped  int64 // lines of others
	lineEnd  byte  // of these: LF, which CRLF has, too, or CR
}

// read counts the events in text that have ended. If the last one has not, read returns it, and its
// text.
func (c *events) read(text []byte, withinLine bool) (last event, rest []byte) {
	for ; len(text) > 0; withinLine = false {
		e, rest := cutEvent(text, withinLine)
		switch {
		case !e.ended:
			return e, text
		case withinLine:
			c.skipped += e.lines // its first lines were skipped
		default:
			c.add(e)
		}
		text = rest
	}
	return event{}, nil
}

// add counts an event that was read.
func (c *events) add(e event) {
	if e.data == nil || string(e.data) == "[DONE]" {
		return
	}
	c.count++
	if e.ended && (c.shortest == 0 || e.lines < c.shortest) {
		c.shortest = e.lines
	}
}

// expectLineEnd has lines counted by what ends those of text.
func (c *events) expectLineEnd(text []byte) {
	c.lineEnd = '\n'
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') >= 0 {
		c.lineEnd = '\r'
	}
}

// lines returns how many lines end in text.
func (c *events) lines(text []byte) int64 { return int64(bytes.Count(text, []byte{c.lineEnd})) }

// skip counts the lines that end in text, which is not read.
func (c *events) skip(text []byte) { c.skipped += c.lines(text) }

// total returns how many events there are. As those of one stream are alike, the lines that were
// not read are of no more events than if each were as short as the shortest one.
func (c *events) total() int64 {
	const fewest = 2 // one with data, and the empty one
	return c.count + c.skipped/max(fewest, c.shortest)
}
