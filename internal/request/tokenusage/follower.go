package tokenusage

import "bytes"

// A follower follows the nesting and the strings of JSON while the JSON is copied. It keeps nothing but the
// newest string or number, up to a bound, so that neither the length nor the depth of a document takes
// memory.
//
// A usage object is a member of the outermost object of a document. In an event of a stream, it may also be a
// member of a message, a response or an x_groq that is a member of the outermost object. An object of that
// name at another place is written by the model or the client, such as the input of a tool.
type follower struct {
	stream bool // the body is a stream of events, each of which is a document

	quoted  bool // within a string
	escapes bool // the string so far ends in an odd number of backslashes
	depth   int  // number of open objects and arrays
	level   int  // number of these, from the outermost on, that lead to a usage object or are one
	usage   int  // the level of the usage object that is open; 0 if none is
	within  name // name of the object at level 2, if it leads to a usage object

	key   name   // name of the member whose value comes next
	value token  // the newest string or, in a usage object, number; a string may be a name
	found counts // counts of closed usage objects
	open  counts // counts of closed usage objects and the open one

	partial bool  // the newest usage object is that of a message that has just begun
	last    bool  // the document is the last one of the response
	ended   bool  // the last document was closed
	content int64 // bytes of strings that a model may have written
}

// next begins the next document.
func (f *follower) next() {
	f.quoted, f.escapes, f.last = false, false, false
	f.depth, f.level, f.usage = 0, 0, 0
	f.key, f.value.kind = noName, noToken
}

// plain are the bytes outside of strings that change nothing.
var plain = func() (set [256]bool) {
	for c := range set {
		set[c] = bytes.IndexByte([]byte(`"{}[]:,`), byte(c)) < 0
	}
	return set
}()

// read reads the next bytes of the document.
func (f *follower) read(p []byte) {
	for i := 0; i < len(p); {
		if f.quoted {
			i += f.readString(p[i:])
			continue
		}
		begin := i
		for i < len(p) && plain[p[i]] {
			i++
		}
		if f.usage > 0 && f.depth == f.usage {
			f.readNumber(p[begin:i])
		}
		if i == len(p) {
			return
		}
		switch p[i] {
		case '"':
			f.quoted = true
			f.value.begin(stringToken)
		case ':':
			f.key = noName
			if f.value.kind == stringToken {
				f.key, f.value.kind = nameOf(f.value.text()), noToken
			}
		case ',':
			f.endValue()
			f.key = noName
		case '{', '[':
			f.begin(p[i] == '{')
		case '}', ']':
			f.endValue()
			f.end()
		}
		i++
	}
}

// readString reads p, which begins within a string, up to the next quote, which ends the string unless it is
// escaped. It returns how many bytes of p that is, with the quote.
func (f *follower) readString(p []byte) int {
	n := 0
	for n < len(p) && n < longest && p[n] != '"' { // most strings are short
		n++
	}
	if n == longest && n < len(p) && p[n] != '"' {
		if more := bytes.IndexByte(p[n:], '"'); more >= 0 {
			n += more
		} else {
			n = len(p)
		}
	}
	escapes := 0
	for escapes < n && p[n-1-escapes] == '\\' {
		escapes++
	}
	f.escapes = escapes%2 != 0 != (escapes == n && f.escapes)
	switch {
	case n == len(p):
		f.value.add(p)
		return n
	case f.escapes:
		f.escapes = false
		f.value.add(p[:n+1])
	default:
		f.quoted = false
		f.value.add(p[:n])
	}
	return n + 1
}

// readNumber reads bytes that stand directly in a usage object, outside of strings: parts of numbers, or
// space.
func (f *follower) readNumber(p []byte) {
	for i, c := range p {
		if c <= ' ' {
			continue
		}
		if f.value.kind == noToken {
			f.value.begin(numberToken)
		}
		f.value.add(p[i : i+1])
	}
}

// begin begins an object or an array.
func (f *follower) begin(object bool) {
	if object && f.depth == f.level && f.leads() {
		f.level++
	}
	f.depth++
	f.key, f.value.kind = noName, noToken
}

// leads reports whether the object that begins now is a usage object or leads to one. The objects around it
// all lead to one.
func (f *follower) leads() bool {
	switch {
	case f.level == 0:
		f.within = noName
		return true
	case f.usage > 0:
		return false
	case f.key == usageName:
		f.usage, f.open = f.level+1, f.found
		f.open.any, f.open.hasAll = false, false
		return true
	case f.stream && f.level == 1 && (f.key == messageName || f.key == responseName || f.key == groqName):
		f.within = f.key
		return true
	}
	return false
}

// endValue ends the value of a member or of an array, if that is a string or a number.
func (f *follower) endValue() {
	v := &f.value
	switch {
	case v.kind == numberToken:
		if number := v.text(); number != nil {
			f.open.set(f.key, number)
		}
	case v.kind == stringToken && f.stream:
		if f.key == typeName && f.depth == 1 {
			f.last = f.last || isLast(v.text())
		}
		f.addContent()
	}
	v.kind = noToken
}

// end ends an object or an array.
func (f *follower) end() {
	f.depth = max(0, f.depth-1)
	f.key = noName
	if f.depth >= f.level {
		return
	}
	if f.level == f.usage {
		f.usage = 0
		if f.open.any {
			f.found, f.partial = f.open, f.level == 3 && f.within == messageName
		}
	}
	f.level--
	f.ended = f.ended || f.level == 0 && f.last
}

// shortest is the length in bytes up to which the string of an envelope member is no content. If a model
// writes members of these names, such as parameters of a tool, no more than that is missed of each.
const shortest = 64

// addContent counts a string that is a value. It does not count the strings of a whole response in an event,
// which repeat other events or the request.
func (f *follower) addContent() {
	n := f.value.length
	switch {
	case f.within == responseName && f.level > 1:
		return
	case f.key == envelopeName, f.key == typeName:
		n -= shortest
	}
	f.content += int64(max(0, n))
}
