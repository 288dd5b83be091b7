package fleetlimit

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// readCookie returns a reader of the cookie name. Names are compared without regard to case, as the replacer does. A value
// counts without quotes and with its %XX decoded, because servers differ in both.
func readCookie(name string) reader {
	return func(r *http.Request, _ *caddy.Replacer) (string, presence) {
		var c cookieScan
		for _, line := range r.Header["Cookie"] {
			c.scan(line, name)
		}
		switch {
		case c.found == 0:
			return "", missing
		case c.found > 1, c.unclear, c.parts > maxParameters:
			return "", ambiguousCookie
		}
		return valueOf(unescapePercent(c.value))
	}
}

// A cookieScan is what the Cookie headers of a request say about one cookie.
type cookieScan struct {
	value   string
	found   int  // how often it is there
	parts   int  // how many cookies there are
	unclear bool // servers differ in where its value, or the one of another cookie, begins and ends
}

// scan adds a Cookie header.
func (c *cookieScan) scan(line, name string) {
	for line != "" {
		var part string
		part, line, _ = strings.Cut(line, ";")
		c.parts++
		if strings.Count(part, `"`)%2 != 0 {
			c.unclear = true // some servers take what follows, up to the next quote, for a part of the value
		}
		field, value, _ := strings.Cut(part, "=")
		if strings.EqualFold(strings.Trim(field, " \t"), name) {
			c.found++
			c.value = unquote(strings.Trim(value, " \t"))
			c.unclear = c.unclear || strings.ContainsFunc(c.value, notInCookie)
			part = value
		}
		// Some servers also split at commas and spaces, and read other spellings of the name.
		for rest := part; rest != ""; {
			i := strings.IndexAny(rest, ", \t")
			if i < 0 {
				i = len(rest) - 1
			}
			field, _, assigns := strings.Cut(strings.TrimRight(rest[:i+1], ", \t"), "=")
			if assigns && sameParameter(unescapePercent(unquote(field)), name) {
				c.found, c.unclear = c.found+1, true
			}
			rest = rest[i+1:]
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

// notInCookie reports whether net/http leaves out a cookie that has c in its value.
func notInCookie(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }
