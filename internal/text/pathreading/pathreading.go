// Package pathreading finds the ways in which servers may read the path of a request. Some decode
// %2f to a slash and some keep it; some cut ";..." from segments, and some end the path there, or at
// %3f; some merge "//", and some take what follows it at the front for a host; to some, a front
// controller such as /index.php is nothing. A path in which none of these occurs has one reading.
package pathreading

import (
	"bytes"
	"cmp"
	"errors"
	"net/url"
	"strings"
)

// Most is how many readings a path has at most.
const Most = 12

// maxParts is how many encoded slashes, semicolons and doubled slashes a path may have. With
// maxLength it bounds the time that readings take.
const maxParts = 128

// maxLength is the most bytes of a path that has several readings, and a quarter of what all of them
// may have. The longest that are innocent are names of objects in S3, of 1024 bytes that may all be
// encoded.
const maxLength = 4096

// The reasons why a path is refused. Clients that mean well send none of these: they remove dot
// segments themselves.
var (
	errDotSegment = errors.New("the path has a dot segment: use it without")
	errBackslash  = errors.New("the path has a backslash: use a path without")
	errControl    = errors.New("the path has a control character: use a path without")
	errTooMany    = errors.New("the path has too many readings: use a shorter one, or fewer of %2f, ; and //")
	errTooLong    = errors.New("the path has several readings and more than 4096 bytes: use a shorter one")
)

// A Path is a path with its readings. It is for one goroutine.
type Path struct {
	one     [1]Reading // the only reading, if there are no others
	several []Reading
	tokens  []byte // with several readings
}

// Read returns the readings of the path of u, or the reason why no server should get it. No path,
// as in http://example.com, is a slash (RFC 9110, section 4.2.3).
func Read(u *url.URL) (p Path, err error) {
	found := scan(u.Path)
	if found.refused == nil && found.escape { // a server may decode it again
		found.refused = scan(unescape(u.Path)).refused
	}
	if found.refused != nil {
		return p, found.refused
	}
	// A RawPath is not in use unless it agrees with Path. Without one, no slash is encoded.
	path := strings.ToLower(cmp.Or(u.Path, "/"))
	if !found.several && !hasEncodedSlash(u.RawPath) && !hasScript(path) {
		p.one[0].path, p.one[0].merged = path, path
		return p, nil
	}
	if len(u.Path) > maxLength || len(u.RawPath) > maxLength {
		return p, errTooLong
	}
	p.tokens = tokenize(u.EscapedPath())
	p.several, err = readings(bytes.ToLower(p.tokens))
	return p, err
}

// Readings returns the readings of p.
func (p *Path) Readings() []Reading {
	if p.several != nil {
		return p.several
	}
	return p.one[:]
}

// found is what a path has.
type found struct {
	refused         error
	escape, several bool // an encoded %; a ; or ? or //
}

// classes are what single bytes mean. Most bytes of paths have none.
const (
	classControl = 1 << iota
	classBackslash
	classPercent
	classEnd // of a path or segment, to some
	classSlash
)

var classes = func() (c [256]uint8) {
	for i := range 0x20 {
		c[i] = classControl
	}
	c[0x7f], c['\\'], c['%'], c['/'] = classControl, classBackslash, classPercent, classSlash
	c[';'], c['?'] = classEnd, classEnd
	return c
}()

// scan looks at each byte of a decoded path once.
func scan(path string) (f found) {
	for i := 0; i < len(path); i++ {
		switch classes[path[i]] {
		case 0:
		case classControl:
			f.refused = errControl
		case classBackslash:
			f.refused = errBackslash
		case classPercent:
			f.escape = true
		case classEnd:
			f.several = true
		case classSlash:
			if i+1 == len(path) {
				break
			}
			if next := path[i+1]; next == '/' {
				f.several = true
			} else if next == '.' && dots(path[i+1:]) {
				f.refused = errDotSegment
			}
		}
	}
	if strings.HasPrefix(path, ".") && dots(path) {
		f.refused = errDotSegment
	}
	return f
}

// dots reports whether s, which begins with a dot, begins with a segment of one or two dots, maybe
// with parameters.
func dots(s string) bool {
	n := 1
	if len(s) > 1 && s[1] == '.' {
		n = 2
	}
	return len(s) == n || strings.IndexByte("/;?", s[n]) >= 0
}

// unescape decodes what it can.
func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if c, ok := escapeAt(s, i); ok {
			b = append(b, c)
			i += 2
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// escapeAt returns the byte that three characters such as %2f at an index encode.
func escapeAt(s string, i int) (byte, bool) {
	if s[i] != '%' || i+2 >= len(s) {
		return 0, false
	}
	high, low := hexDigits[s[i+1]], hexDigits[s[i+2]]
	return (high-1)<<4 | (low - 1), high > 0 && low > 0
}

// hexDigits are the values of digits and one more, so that 0 is no digit.
var hexDigits = func() (d [256]uint8) {
	for i := range uint8(10) {
		d['0'+i] = i + 1
	}
	for i := range uint8(6) {
		d['a'+i], d['A'+i] = i+11, i+11
	}
	return d
}()

// hasEncodedSlash reports whether an escaped path has one.
func hasEncodedSlash(escaped string) bool {
	for {
		i := strings.IndexByte(escaped, '%')
		if i < 0 || i+2 >= len(escaped) {
			return false
		}
		if escaped[i+1] == '2' && escaped[i+2]|0x20 == 'f' {
			return true
		}
		escaped = escaped[i+1:]
	}
}
