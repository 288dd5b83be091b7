package keytemplate

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// maxParameters is how many query parameters or cookies every server reads. Of more, some read none
// and some the first.
const maxParameters = 1000

// queryReader returns a reader of the query parameter name. It is ambiguous where servers disagree:
// some split at `;`, keep the first of two values, or read a similar name as this one. What follows
// a `#` or a space may be lost on the way.
func queryReader(name string) reader {
	m := newNameMatcher(name, true)
	return func(r *http.Request, _ *caddy.Replacer) (string, Presence) {
		value, presence := findParameter(r.URL.RawQuery, m)
		if presence != Present {
			return "", presence
		}
		decoded, clear := unescape(value, true)
		if !clear {
			return "", Ambiguous
		}
		return plain(decoded, len(decoded) != len(value))
	}
}

// findParameter returns the value of the parameter of m in a query, as the client writes it.
func findParameter(query string, m *nameMatcher) (value string, presence Presence) {
	found, from := false, 0
	for i := 0; i <= len(query); i++ {
		if i < len(query) && query[i] != '&' && query[i] != ';' {
			continue
		}
		if m.similar(query[from:i]) {
			name, rest, _ := strings.Cut(query[from:i], "=")
			split := from > 0 && query[from-1] == ';' || i < len(query) && query[i] == ';'
			if decoded, clear := unescape(name, true); found || split || !clear || decoded != m.name {
				return "", Ambiguous
			}
			found, value = true, rest
		}
		from = i + 1
	}
	switch {
	case !found:
		return "", Missing
	case strings.IndexByte(query, '#') >= 0, strings.IndexByte(query, ' ') >= 0, parts(query, "&") > maxParameters:
		return "", Ambiguous
	}
	return value, Present
}

// PlainQuery returns a query without the mistakes for which Caddy reads nothing of it: parameters
// end at semicolons, and what escapes nothing is a percent sign. It reports whether there are any.
func PlainQuery(query string) (plain string, differs bool) {
	var b []byte
	from := 0
	for i := range len(query) {
		instead := ""
		switch query[i] {
		case ';':
			instead = "&"
		case '%':
			if _, n := decode(query[i:]); n == 1 {
				instead = "%25"
			}
		}
		if instead != "" {
			b = append(append(b, query[from:i]...), instead...)
			from = i + 1
		}
	}
	if from == 0 {
		return query, false
	}
	return string(append(b, query[from:]...)), true
}

// parts returns how many parts of s end with a separator or the end.
func parts(s, separator string) int {
	if s == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(s, separator), separator) + 1
}
