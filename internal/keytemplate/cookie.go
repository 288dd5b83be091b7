package keytemplate

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// cookieReader returns a reader of the cookie name. As in the replacer, names have no case. Values
// are read without quotes and with %XX decoded, because servers differ in both.
func cookieReader(name string) reader {
	return func(r *http.Request, _ *caddy.Replacer) (string, Presence) {
		var c cookieScan
		for _, line := range r.Header["Cookie"] {
			c.scan(line, name)
		}
		switch {
		case c.found == 0:
			return "", Missing
		case c.found > 1, c.unclear, c.cookies > maxParameters:
			return "", AmbiguousCookie
		}
		return trim(unescapePercent(c.value))
	}
}

// A cookieScan searches the Cookie headers of a request for one cookie.
type cookieScan struct {
	value   string
	found   int  // how often it occurs
	cookies int  // how many cookies there are
	unclear bool // servers disagree where a value begins or ends
}

// scan adds a Cookie header.
func (c *cookieScan) scan(line, name string) {
	for line != "" {
		var cookie string
		cookie, line, _ = strings.Cut(line, ";")
		c.cookies++
		if strings.Count(cookie, `"`)%2 != 0 {
			c.unclear = true // for some servers the value goes on to the next quote
		}
		field, value, _ := strings.Cut(cookie, "=")
		if strings.EqualFold(strings.Trim(field, " \t"), name) {
			c.found++
			c.value = unquote(strings.Trim(value, " \t"))
			c.unclear = c.unclear || strings.ContainsFunc(c.value, notInCookie)
			cookie = value
		}
		// Some servers also split at commas and spaces, and read other spellings of the name.
		for word := range strings.FieldsFuncSeq(cookie, isSeparator) {
			field, _, assigns := strings.Cut(word, "=")
			if assigns && sameParameter(unescapePercent(unquote(field)), name) {
				c.found, c.unclear = c.found+1, true
			}
		}
	}
}

// unquote removes a pair of double quotes around s.
func unquote(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

func isSeparator(c rune) bool { return c == ',' || c == ' ' || c == '\t' }

// notInCookie reports whether net/http drops a cookie that has c in its value.
func notInCookie(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }
