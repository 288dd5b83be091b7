package fleetlimit

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// maxParameters is how many query parameters or cookies every server reads. Beyond, some read none and some the first.
const maxParameters = 1000

// readQuery returns a reader of the query parameter name. It is ambiguous where servers differ: some split at `;`, keep the
// first of two values, ignore case, or cut names at a bracket, and what follows a `#` or a space may be lost on the way.
func readQuery(name string) reader {
	return func(r *http.Request, _ *caddy.Replacer) (string, presence) {
		var value string
		var found, clear, pairs int
		for rest := r.URL.RawQuery; rest != ""; pairs++ {
			var pair string
			pair, rest, _ = strings.Cut(rest, "&")
			if text, names, ok := cutParameter(pair, name); names {
				found++
				if ok {
					value = text
					clear++
				}
			}
		}
		switch {
		case found == 0:
			return "", missing
		case found > 1, clear < 1, pairs > maxParameters, strings.ContainsAny(r.URL.RawQuery, "# "):
			return "", ambiguous
		}
		return valueOf(value)
	}
}

// cutParameter reports whether a pair of a query is the parameter name to any server, and whether it is to all of them, with
// its value.
func cutParameter(pair, name string) (value string, names, ok bool) {
	if strings.IndexByte(pair, ';') >= 0 {
		for part := range strings.SplitSeq(pair, ";") {
			if field, _, _ := strings.Cut(part, "="); sameParameter(unescape(field), name) {
				return "", true, false
			}
		}
		return "", false, false
	}
	field, text, _ := strings.Cut(pair, "=")
	if decoded, err := url.QueryUnescape(field); err != nil || decoded != name {
		return "", sameParameter(unescape(field), name), false
	}
	value, err := url.QueryUnescape(text)
	return value, true, err == nil
}

// sameParameter reports whether a server may take a parameter or cookie called field for the one called name: it ignores
// case, spaces around the field, what follows a NUL, and the index in `name[]`, or it has no dots in names.
func sameParameter(field, name string) bool {
	field, _, _ = strings.Cut(field, "\x00")
	field = strings.TrimSpace(field)
	if len(field) > len(name) && field[len(name)] == '[' {
		field = field[:len(name)]
	}
	return sameVariable(field, name)
}

// sameVariable reports whether PHP gives two parameters one name: it has underscores for dots and spaces.
func sameVariable(a, b string) bool {
	fold := func(c rune) rune {
		if c == '.' || c == ' ' {
			return '_'
		}
		return c
	}
	return len(a) == len(b) && strings.EqualFold(strings.Map(fold, a), strings.Map(fold, b))
}

// unescape decodes every +, which is a space, and every %XX in s, and leaves what cannot be decoded as it is.
func unescape(s string) string { return unescapePercent(strings.ReplaceAll(s, "+", " ")) }

// unescapePercent decodes every %XX in s, and leaves what cannot be decoded as it is.
func unescapePercent(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if decoded, err := url.PathUnescape(s[i : i+3]); err == nil {
				b.WriteString(decoded)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
