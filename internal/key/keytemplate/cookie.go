package keytemplate

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// cookieReader returns a reader of the cookie name. It ignores the case of names, as the replacer does.
// It removes quotes around a value and decodes %XX, because some servers do so and others do not.
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
		decoded, _ := unescape(s.value, false)
		value, presence := plain(decoded, len(decoded) != len(s.value))
		return joined(value), min(presence, AmbiguousCookie)
	}
}

// A cookieScan searches the Cookie headers of a request for one cookie.
type cookieScan struct {
	name    string
	matcher *nameMatcher // of the decoded name
	value   string
	found   bool
	unclear bool // servers disagree about the cookie, or about where a value begins or ends
}

// addHeader adds a Cookie header. It splits the header into cookies at semicolons, and sets unclear if
// another server may find the name elsewhere. Some servers also split at commas, spaces and tabs. For
// some servers, a name begins after any byte that cannot be in a name, and for some, a value in quotes
// goes on to the next quote.
func (s *cookieScan) addHeader(line string) {
	for i := 0; i < len(line); i++ {
		if line[i] == ';' { // an empty cookie
			continue
		}
		start, equals, word, name, quotes := i, -1, -1, -1, 0
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
				name = i + 1
			case '=':
				if equals < 0 {
					equals, marks = i, 0
					similar = s.matcher.similar(line[start:i])
				}
				if !(similar && equals == i) && (word >= 0 && s.matcher.similar(line[word:i]) || name >= 0 && s.is(line[name:i])) {
					s.found, s.unclear = true, true
				}
				word, name = -1, -1
			default: // WebOb begins a name here
				name = i + 1
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

// is reports whether text is the name, with or without spaces and tabs around it.
func (s *cookieScan) is(text string) bool {
	return strings.EqualFold(strings.Trim(text, " \t"), s.name)
}

// add adds a cookie whose name is similar to s.name. bad says that the value has bytes that net/http
// does not accept. add itself looks for the other bytes at which some server ends a value.
func (s *cookieScan) add(cookie string, bad bool) {
	name, value, _ := strings.Cut(cookie, "=")
	value = unquote(strings.Trim(value, " \t"))
	bad = bad || strings.ContainsAny(value, " \t,\"[]&")
	if s.found || bad || !s.is(name) {
		s.unclear = true
	}
	s.found, s.value = true, value
}

// joined returns the value of a cookie with each space replaced by a `+`.
func joined(value string) string { return strings.ReplaceAll(value, " ", "+") }

// unquote removes a pair of double quotes around s.
func unquote(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// A cookieByte says which parts a byte can play in a Cookie header.
type cookieByte uint8

const (
	cookieMark cookieByte = 1 << iota // addHeader stops at it
	cookieBad                         // net/http does not accept it in any value
)

var cookieBytes = func() (bytes [256]cookieByte) {
	for i := range bytes {
		if i < ' ' || i > '~' || i == '\\' {
			bytes[i] = cookieMark | cookieBad
		}
	}
	for _, c := range "; ,\t\"=[]" {
		bytes[c] = cookieMark
	}
	return bytes
}()
