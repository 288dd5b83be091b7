package keytemplate

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// maxParameters is how many query parameters or cookies every server reads. Of more, some read none
// and some the first.
const maxParameters = 1000

// queryReader returns a reader of the query parameter name. It is ambiguous where servers disagree:
// some split at `;`, keep the first of two values, ignore case, or cut names at a bracket. What
// follows a `#` or a space may be lost on the way.
func queryReader(name string) reader {
	return func(r *http.Request, _ *caddy.Replacer) (string, Presence) {
		var value string
		var found, pairs int
		clear := true
		for rest := r.URL.RawQuery; rest != ""; pairs++ {
			var pair string
			pair, rest, _ = strings.Cut(rest, "&")
			if text, some, all := parameterValue(pair, name); some {
				found++
				value, clear = text, clear && all
			}
		}
		switch {
		case found == 0:
			return "", Missing
		case found > 1, !clear, pairs > maxParameters, strings.ContainsAny(r.URL.RawQuery, "# "):
			return "", Ambiguous
		}
		return trim(value)
	}
}

// parameterValue returns the value of a pair of a query if it is the parameter name. some and all
// report whether some server and all servers read it as that parameter.
func parameterValue(pair, name string) (value string, some, all bool) {
	if strings.Contains(pair, ";") {
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

// sameParameter reports whether some server reads the parameter or cookie called field as the one
// called name. Servers ignore case, spaces around the field, what follows a NUL, and the index in
// `name[]`. PHP reads dots and spaces as underscores.
func sameParameter(field, name string) bool {
	field, _, _ = strings.Cut(field, "\x00")
	field = strings.TrimSpace(field)
	if len(field) > len(name) && field[len(name)] == '[' {
		field = field[:len(name)]
	}
	return len(field) == len(name) && strings.EqualFold(underscores.Replace(field), underscores.Replace(name))
}

var underscores = strings.NewReplacer(".", "_", " ", "_")

// unescape decodes every + and %XX in s, and keeps what cannot be decoded.
func unescape(s string) string { return unescapePercent(strings.ReplaceAll(s, "+", " ")) }

// unescapePercent decodes every %XX in s, and keeps what cannot be decoded.
func unescapePercent(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	return percentEncoded.ReplaceAllStringFunc(s, func(encoded string) string {
		decoded, _ := url.PathUnescape(encoded) // cannot fail
		return decoded
	})
}

var percentEncoded = regexp.MustCompile("%[0-9A-Fa-f]{2}")
