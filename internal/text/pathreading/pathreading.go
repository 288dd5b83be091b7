// Package pathreading finds the ways in which servers may read the path of a request. Some servers
// decode %2f to a slash, and some keep it. Some cut ";..." from segments, and some end the path there or
// at %3f. Some merge "//", and some take the text behind a "//" at the front for a host. Some ignore the
// name of a front controller such as /index.php. A path in which none of these occurs has one reading.
package pathreading

import (
	"bytes"
	"cmp"
	"errors"
	"net/url"
	"strings"
)

// Most is the highest number of readings of a path.
const Most = 12

// maxParts is the highest number of encoded slashes, semicolons and doubled slashes in a path. Together
// with maxLength, it bounds the time to find readings.
const maxParts = 128

// maxLength is the highest number of bytes in a path with several readings. All readings together have
// at most four times as many. The longest innocent paths are names of objects in S3: they have up to
// 1024 bytes, which may all be encoded.
const maxLength = 4096

// These errors are the reasons to refuse a path. No well-meaning client sends such a path: clients
// remove dot segments themselves.
var (
	errDotSegment = errors.New("the path has a dot segment: use it without")
	errBackslash  = errors.New("the path has a backslash: use a path without")
	errControl    = errors.New("the path has a control character: use a path without")
	errTooMany    = errors.New("the path has too many readings: use a shorter one, or fewer of %2f, ; and //")
	errTooLong    = errors.New("the path has several readings and more than 4096 bytes: use a shorter one")
)

// A Path is a path with its readings. It is for one goroutine.
type Path struct {
	one     [1]Reading // the reading, if there is only one
	several []Reading
	tokens  []byte // of a path with several readings
}

// Read returns the readings of the path of u, or an error that says why no server should get the path.
// An empty path, as in http://example.com, is a slash (RFC 9110, section 4.2.3).
func Read(u *url.URL) (p Path, err error) {
	found := scan(u.Path)
	if found.refused == nil && found.escape { // a server may decode the path twice
		found.refused = scan(unescape(u.Path)).refused
	}
	if found.refused != nil {
		return p, found.refused
	}
	// EscapedPath ignores a RawPath that does not agree with Path. Without a RawPath, no slash is
	// encoded.
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

// found has what scan finds in a path.
type found struct {
	refused         error
	escape, several bool // escape: an encoded %; several: a ; or ? or //
}

// The classes of the bytes that scan looks for. Most bytes of paths have no class.
const (
	classControl = 1 << iota
	classBackslash
	classPercent
	classEnd // some servers end the path or the segment here
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

// scan looks at each byte of a decoded path once, and returns what it finds.
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

// dots reports whether s, which begins with a dot, begins with a segment "." or "..", which may have
// parameters.
func dots(s string) bool {
	n := 1
	if len(s) > 1 && s[1] == '.' {
		n = 2
	}
	return len(s) == n || strings.IndexByte("/;?", s[n]) >= 0
}

// unescape decodes each %XX in s, and keeps other text.
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

// escapeAt returns the byte that a %XX at index i of s stands for. It returns false if there is no %XX.
func escapeAt(s string, i int) (byte, bool) {
	if s[i] != '%' || i+2 >= len(s) {
		return 0, false
	}
	high, low := hexDigits[s[i+1]], hexDigits[s[i+2]]
	return (high-1)<<4 | (low - 1), high > 0 && low > 0
}

// hexDigits has one more than the value of each hexadecimal digit, and 0 for other bytes.
var hexDigits = func() (d [256]uint8) {
	for i := range uint8(10) {
		d['0'+i] = i + 1
	}
	for i := range uint8(6) {
		d['a'+i], d['A'+i] = i+11, i+11
	}
	return d
}()

// hasEncodedSlash reports whether an escaped path has a %2f.
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
