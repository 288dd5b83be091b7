package keytemplate

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// maxParameters is the highest number of query parameters or cookies that all servers read. If there
// are more, some servers read none of them, and some only the first ones.
const maxParameters = 1000

// queryReader returns a reader of the query parameter name. The parameter is ambiguous if servers read
// it differently: some split at `;`, some keep the first of two values, and some read a similar name as
// this name. A proxy may cut off the query at a `#` or a space.
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

// findParameter returns the value of the parameter that m matches, as the client has written it in a
// query.
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

// PlainQuery returns a query without the two mistakes that keep Caddy from reading a query: it turns
// semicolons into ampersands, and a percent sign that begins no %XX into %25. differs says that the query
// had such a mistake.
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

// parts returns the number of parts of s that end with a separator or with the end of s.
func parts(s, separator string) int {
	if s == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(s, separator), separator) + 1
}
