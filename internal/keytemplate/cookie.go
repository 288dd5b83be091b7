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
	matcher := newNameMatcher(decoded, false)
	return func(r *http.Request, _ *caddy.Replacer) (string, Presence) {
		s := cookieScan{name: name, matcher: matcher}
		for _, line := range r.Header["Cookie"] {
			s.addHeader(line)
		}
		if !s.found {
			return "", Missing
		}
		cookies := 0
		for _, line := range r.Header["Cookie"] {
			cookies += parts(line, ";")
		}
		if s.unclear || cookies > maxParameters {
			return "", AmbiguousCookie
		}
		value, _ := unescape(s.value, false)
		return trim(value)
	}
}

// A cookieScan searches the Cookie headers of a request for one cookie.
type cookieScan struct {
	name    string
	matcher *nameMatcher // of the decoded name
	value   string
	found   bool
	unclear bool // servers disagree about the cookie, or where a value begins or ends
}

// addHeader adds a Cookie header. Some servers also split cookies at commas, spaces and tabs, and
// for some a value in quotes goes on to the next quote.
func (s *cookieScan) addHeader(line string) {
	for i := 0; i < len(line); i++ {
		if line[i] == ';' { // an empty cookie
			continue
		}
		start, equals, word, quotes := i, -1, -1, 0
		similar, marks := false, cookieByte(0)
	cookie:
		for ; i < len(line); i++ {
			c := cookieBytes[line[i]]
			if marks |= c; c&cookieMark == 0 {
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
					equals, marks = i, 0
					similar = s.matcher.similar(line[start:i])
				}
				if word >= 0 && !(similar && equals == i) && s.matcher.similar(line[word:i]) {
					s.found, s.unclear = true, true
				}
				word = -1
			}
		}
		if equals < 0 {
			marks, similar = 0, s.matcher.similar(line[start:i])
		}
		if similar {
			s.add(line[start:i], marks&cookieBad != 0)
		}
		s.unclear = s.unclear || quotes%2 != 0
	}
}

// add adds a cookie with a similar name. bad reports that its value has bytes that net/http does
// not take, apart from tabs and quotes.
func (s *cookieScan) add(cookie string, bad bool) {
	name, value, _ := strings.Cut(cookie, "=")
	value = unquote(strings.Trim(value, " \t"))
	bad = bad || strings.IndexByte(value, '\t') >= 0 || strings.IndexByte(value, '"') >= 0
	if s.found || bad || !strings.EqualFold(strings.Trim(name, " \t"), s.name) {
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

// cookieByte says what a byte can be in a Cookie header.
type cookieByte uint8

const (
	cookieMark cookieByte = 1 << iota // it separates cookies or words, or is a quote or an equals sign
	cookieBad                         // net/http does not take it in a value
)

var cookieBytes = func() (bytes [256]cookieByte) {
	for i := range bytes {
		if i < ' ' || i > '~' || i == '\\' {
			bytes[i] = cookieBad
		}
	}
	for _, c := range "; ,\t\"=" {
		bytes[c] = cookieMark
	}
	return bytes
}()
