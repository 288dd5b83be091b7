package keytemplate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain removes spaces and tabs around a value that a client has written. The value is ambiguous if
// some server reads another value:
//
//   - Many servers remove other characters around a value, too: white space, controls, and characters
//     without a width. Servers that read Latin-1 remove the bytes 0x85 and 0xA0.
//   - For programs in C, a value ends before a NUL, and some servers turn other controls into spaces.
//
// escaped says that the client has written some bytes of the value as %XX. Other values cannot have
// controls.
func plain(value string, escaped bool) (string, Presence) {
	value, presence := trim(value)
	if presence == Present && (isRemoved(value) || escaped && strings.IndexFunc(value, isReplaced) >= 0) {
		return "", Ambiguous
	}
	return value, presence
}

// isRemoved reports whether some server removes the first or the last character of a value.
func isRemoved(value string) bool {
	if isGraphic(value[0]) && isGraphic(value[len(value)-1]) {
		return false
	}
	first, size := utf8.DecodeRuneInString(value)
	if first == utf8.RuneError && size == 1 {
		first = rune(value[0]) // as a character of Latin-1
	}
	last, size := utf8.DecodeLastRuneInString(value)
	if last == utf8.RuneError && size == 1 {
		last = rune(value[len(value)-1])
	}
	return hasNoWidth(first) || hasNoWidth(last)
}

// isGraphic reports whether c is a character of ASCII that one can see.
func isGraphic(c byte) bool { return ' ' < c && c <= '~' }

// hasNoWidth reports whether c is white space, a control, or a character that only formats others.
func hasNoWidth(c rune) bool {
	return unicode.IsSpace(c) || unicode.In(c, unicode.Cc, unicode.Cf, unicode.Z)
}

// isReplaced reports whether c is a control that ends a value for some server, or that some server
// turns into a space.
func isReplaced(c rune) bool { return c < ' ' && !unicode.IsSpace(c) || c == 0x7f }
