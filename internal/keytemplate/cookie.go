package keytemplate

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// cookieReader returns a reader of the cookie name. As in the replacer, names have no case. Values
// are read without quotes and with %XX decoded, because servers differ in both.
func cookieReader(name string) reader {
	decoded, _ := unescape(name, false)
	field, word := newNameMatcher(decoded, "=;", false), newNameMatcher(decoded, "=;, \t", false)
	return func(r *http.Request, _ *caddy.Replacer) (string, Presence) {
		s := cookieScan{name: name, field: field, word: word}
		for _, line := range r.Header["Cookie"] {
			s.addHeader(line)
		}
		switch {
		case !s.found:
			return "", Missing
		case s.unclear, s.cookies > maxParameters:
			return "", AmbiguousCookie
		}
		value, _ := unescape(s.value, false)
		return trim(value)
	}
}

// A cookieScan searches the Cookie headers of a request for one cookie.
type cookieScan struct {
	name        string
	field, word *nameMatcher // of the name up to its `=`, and of the words of a cookie
	value       string
	cookies     int // how many there are
	found       bool
	unclear     bool // servers disagree about the cookie, or where a value begins or ends
}

// addHeader adds a Cookie header. Some servers also split cookies at commas, spaces and tabs, and
// for some a value in quotes goes on to the next quote.
func (s *cookieScan) addHeader(line string) {
	for i := 0; i < len(line); s.cookies++ {
		if line[i] == ';' { // an empty cookie
			i++
			continue
		}
		start, equals, quotes := i, -1, 0
		similar := false
		word := -1 // where the last word after a separator begins
	cookie:
		for ; i < len(line); i++ {
			if cookieBytes[line[i]]&cookieMark == 0 {
				continue
			}
			switch line[i] {
			case ';':
				break cookie
			case ',', ' ', '\t':
				word = i + 1
			case '"':
				quotes++
			case '=':
				if equals < 0 {
					equals = i
					similar = s.field.similar(line[start:i])
				}
				if (equals < i || !similar) && word >= 0 && s.word.similar(line[word:i]) {
					s.found, s.unclear = true, true
				}
				word = -1
			}
		}
		if similar || equals < 0 && s.field.similar(line[start:i]) {
			s.add(line[start:i])
		}
		s.unclear = s.unclear || quotes%2 != 0
		i++ // the semicolon
	}
}

// add adds a cookie with a similar name.
func (s *cookieScan) add(cookie string) {
	name, value, _ := strings.Cut(cookie, "=")
	value = unquote(strings.Trim(value, " \t"))
	if s.found || !strings.EqualFold(strings.Trim(name, " \t"), s.name) || !isCookieValue(value) {
		s.unclear = true
	}
	s.found, s.value = true, value
}

// unquote removes a pair of double quotes around s.
func unquote(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// isCookieValue reports whether net/http takes s for the value of a cookie.
func isCookieValue(s string) bool {
	for i := range len(s) {
		if cookieBytes[s[i]]&cookieValue == 0 {
			return false
		}
	}
	return true
}

// What a byte can be in a Cookie header.
const (
	cookieMark  = 1 << iota // it separates cookies or words, or is a quote or an equals sign
	cookieValue             // net/http takes it for a byte of a value
)

var cookieBytes = func() (bytes [256]uint8) {
	for c := ' '; c <= '~'; c++ {
		bytes[c] = cookieValue
	}
	bytes['"'], bytes['\\'] = 0, 0
	for _, c := range "; ,\t\"=" {
		bytes[c] |= cookieMark
	}
	return bytes
}()
