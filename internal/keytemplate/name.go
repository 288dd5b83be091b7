package keytemplate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A nameMatcher finds the name of a query parameter or cookie among those that clients write.
//
// Upstreams rewrite names: PHP reads `api[key` as `api_key`, Rack reads `[key]` as `key`, and Node
// drops a byte 0xA0 beside the name of a cookie. A name is similar to that of the matcher if some
// upstream may read it so. It is similar if it consists of
//
//   - any bytes that are neither a letter, a digit, `_`, `-`, `$` nor the first byte of the name;
//   - the name, in which letters have no case, and a byte that is no letter or digit stands for any
//     such byte;
//   - bytes that are no letter, digit, `_`, `-` or `$`, up to the end, a NUL or a bracket. What comes
//     after those does not matter.
//
// This holds for names after %XX is decoded. Letters are those of ASCII, but U+017F and U+212A are
// an s and a k in another case. If the name of the matcher has other characters, these are letters
// too, and all bytes outside ASCII count as letters beside it.
type nameMatcher struct {
	name     string
	folds    []rune         // of its characters
	ascii    bool           // the name has no other characters
	fold     uint32         // the bytes of U+017F or U+212A, if the name can begin with it
	foldMask uint32         // the bits that fold has
	decoded  [256]nameClass // of bytes after %XX is decoded
	written  [256]nameClass // of bytes that clients write, 0 for those that end a name
}

// nameClass says what a byte can be in a similar name.
type nameClass uint8

const (
	nameBegins  nameClass = 1 << iota // the name can begin with it
	nameFolds                         // fold ends with it
	nameSkips                         // it can be before the name
	nameLetter                        // it is a letter or a digit
	nameGoesOn                        // after the name, it makes another name
	nameEncoded                       // it may stand for another byte
)

// newNameMatcher returns a matcher of a name, which any byte of ends ends. In queries, `+` is a
// space.
func newNameMatcher(name, ends string, query bool) *nameMatcher {
	m := &nameMatcher{name: name, folds: []rune(name), ascii: len([]rune(name)) == len(name)}
	first := m.folds[0]
	for i, r := range m.folds {
		m.folds[i] = fold(r)
	}
	for i := range m.decoded {
		c := byte(i)
		switch {
		case isAlphanumeric(c), c >= utf8.RuneSelf && !m.ascii:
			m.decoded[c] = nameLetter | nameGoesOn
		case strings.IndexByte("_-$", c) >= 0:
			m.decoded[c] = nameGoesOn
		case c != name[0]:
			m.decoded[c] = nameSkips
		}
		if !isLetter(first) && m.decoded[c]&nameLetter == 0 {
			m.decoded[c] |= nameBegins
		}
	}
	for r := unicode.SimpleFold(first); isLetter(first); r = unicode.SimpleFold(r) {
		encoded := utf8.AppendRune(nil, r)
		if len(encoded) > 1 && m.ascii {
			for _, c := range encoded {
				m.fold, m.foldMask = m.fold<<8|uint32(c), m.foldMask<<8|0xff
			}
			m.decoded[encoded[len(encoded)-1]] |= nameFolds
		} else {
			m.decoded[encoded[0]] |= nameBegins
		}
		if r == first {
			break
		}
	}
	m.written = m.decoded
	m.written['%'] = nameEncoded
	if query {
		m.written['+'] = nameEncoded
	}
	for _, c := range []byte(ends) {
		m.written[c] = 0
	}
	return m
}

// similar reports whether some upstream may read what begins s as the name. Most names are too
// short for that, or begin with another letter.
func (m *nameMatcher) similar(s string) bool {
	return len(s) >= len(m.folds) && m.written[s[0]]&^(nameLetter|nameGoesOn) != 0 && m.find(s)
}

// find is similar for a name of any length and beginning.
func (m *nameMatcher) find(s string) bool {
	last := uint32(0) // the last bytes
	for i := 0; i < len(s); {
		c, n := s[i], 1
		class := m.written[c]
		if class == nameEncoded {
			c, n = decode(s[i:])
			class = m.decoded[c]
		}
		last = last<<8 | uint32(c)
		if class == nameSkips {
			i += n
			continue
		}
		begins := class&nameBegins != 0 || class&nameFolds != 0 && last&m.foldMask == m.fold
		if begins {
			rest, folds := s[i+n:], m.folds[1:]
			if !m.ascii { // c may be the first byte of several
				rest, folds = s[i:], m.folds
			}
			if m.hasFolds(rest, folds) {
				return true
			}
		}
		if class&nameSkips == 0 {
			return false
		}
		i += n
	}
	return false
}

// hasFolds reports whether s begins with characters of these folds, the last of the name, and with
// nothing after them that makes another name.
func (m *nameMatcher) hasFolds(s string, folds []rune) bool {
	for _, want := range folds {
		if s != "" && alphanumerics[s[0]] >= 0 {
			if alphanumerics[s[0]] != want {
				return false
			}
			s = s[1:]
			continue
		}
		c, n := m.next(s)
		if n == 0 {
			return false
		}
		switch {
		case !isLetter(want):
			if m.decoded[c]&nameLetter != 0 {
				return false
			}
		case c >= utf8.RuneSelf:
			var r rune
			if r, n = m.nextRune(s); fold(r) != want {
				return false
			}
		case alphanumerics[c] != want:
			return false
		}
		s = s[n:]
	}
	for {
		c, n := m.next(s)
		switch {
		case n == 0, c == 0, c == '[', c == ']':
			return true
		case m.decoded[c]&nameGoesOn != 0:
			return false
		}
		s = s[n:]
	}
}

// same reports whether every upstream reads what begins s as the name.
func (m *nameMatcher) same(s string) bool {
	for i := range len(m.name) {
		c, n := m.next(s)
		if n == 0 || c != m.name[i] || c == '%' && n == 1 {
			return false
		}
		s = s[n:]
	}
	_, n := m.next(s)
	return n == 0
}

// next returns the byte that begins s, decoded, and how many bytes write it: none at the end of the
// name.
func (m *nameMatcher) next(s string) (c byte, n int) {
	switch {
	case s == "" || m.written[s[0]] == 0:
		return 0, 0
	case m.written[s[0]] == nameEncoded:
		return decode(s)
	}
	return s[0], 1
}

// nextRune returns the character that begins s, decoded, and how many bytes write it.
func (m *nameMatcher) nextRune(s string) (r rune, n int) {
	var bytes [utf8.UTFMax]byte
	for i := range bytes {
		c, width := m.next(s[n:])
		if width == 0 || i > 0 && utf8.RuneStart(c) {
			break
		}
		n += width
		if bytes[i] = c; utf8.FullRune(bytes[:i+1]) {
			break
		}
	}
	r, _ = utf8.DecodeRune(bytes[:])
	return r, n
}

// fold returns the least of the characters that are r apart from their case.
func fold(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}

// alphanumerics has the folds of letters and digits of ASCII, and -1 for other bytes.
var alphanumerics = func() (folds [256]rune) {
	for i := range folds {
		folds[i] = -1
		if isAlphanumeric(byte(i)) {
			folds[i] = fold(rune(i))
		}
	}
	return folds
}()

// isLetter reports whether a character of a name stands for itself alone.
func isLetter(r rune) bool { return r >= utf8.RuneSelf || isAlphanumeric(byte(r)) }

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
