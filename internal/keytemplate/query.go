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
	m := newNameMatcher(name, "=&;", true)
	return func(r *http.Request, _ *caddy.Replacer) (string, Presence) {
		value, presence := findParameter(r.URL.RawQuery, m)
		if presence != Present {
			return "", presence
		}
		value, clear := unescape(value, true)
		if !clear {
			return "", Ambiguous
		}
		return trim(value)
	}
}

// findParameter returns the value of the parameter of m in a query, as the client writes it.
func findParameter(query string, m *nameMatcher) (value string, presence Presence) {
	found, pairs := false, 0
	for i := 0; i < len(query); pairs++ {
		start := i
		similar, split := false, false
		for from := i; ; from, split = i+1, true {
			for i = from; i < len(query) && query[i] != '&' && query[i] != ';'; {
				i++
			}
			similar = similar || m.similar(query[from:i])
			if i == len(query) || query[i] == '&' {
				break
			}
		}
		if similar {
			if found || split || !m.same(query[start:]) {
				return "", Ambiguous
			}
			found = true
			_, value, _ = strings.Cut(query[start:i], "=")
		}
		i++ // the &
	}
	switch {
	case !found:
		return "", Missing
	case pairs > maxParameters, strings.IndexByte(query, '#') >= 0, strings.IndexByte(query, ' ') >= 0:
		return "", Ambiguous
	}
	return value, Present
}
