package zone

import (
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
)

// matches reports whether the matchers of z let the request through, as it is or as servers read it: to
// them, a dot at the end of a host is nothing, and one wrong parameter does not hide the others of a
// query. A zone in the syntax of caddy-ratelimit matches as Caddy does, and no more.
func (z *Zone) matches(r *Request) (bool, error) {
	matches, err := z.matchers.AnyMatchWithError(r.HTTP)
	if matches || err != nil || z.Legacy {
		return matches, err
	}
	host, differs := keytemplate.PlainHost(r.HTTP.Host)
	query := r.HTTP.URL.RawQuery
	if z.queries {
		if strings.Count(query, "&")+strings.Count(query, ";") >= mostParameters {
			return true, nil // Caddy does not read them, and others do
		}
		if wrong := firstWrong(query); wrong >= 0 {
			query, differs = plainQuery(query, wrong), true
		}
	}
	if !differs {
		return false, nil
	}
	defer func(host, query string) { r.HTTP.Host, r.HTTP.URL.RawQuery = host, query }(r.HTTP.Host, r.HTTP.URL.RawQuery)
	r.HTTP.Host, r.HTTP.URL.RawQuery = host, query
	return z.matchers.AnyMatchWithError(r.HTTP)
}

// mostParameters is how many parameters of a query net/url reads at most.
const mostParameters = 10_000

// readsQuery reports whether a set has a matcher of queries.
func readsQuery(set caddyhttp.MatcherSet) bool {
	return slices.ContainsFunc(set, func(m any) bool {
		if not, is := m.(*caddyhttp.MatchNot); is {
			return slices.ContainsFunc(not.MatcherSets, readsQuery)
		}
		_, is := m.(*caddyhttp.MatchQuery)
		return is
	})
}

// firstWrong returns the index of what has Caddy read nothing of a query: a semicolon, or a percent sign
// that escapes nothing. It returns -1 if there is none.
func firstWrong(query string) int {
	for i := range len(query) {
		if c := query[i]; c == ';' || c == '%' && !isEscape(query[i:]) {
			return i
		}
	}
	return -1
}

// isEscape reports whether s begins with an escape such as %2f.
func isEscape(s string) bool { return len(s) > 2 && isHex(s[1]) && isHex(s[2]) }

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// plainQuery returns a query of which the first mistake is at wrong without its mistakes: parameters end
// at semicolons, and what escapes nothing is a percent sign.
func plainQuery(query string, wrong int) string {
	b := []byte(query[:wrong])
	for rest := query[wrong:]; rest != ""; rest = rest[1:] {
		switch c := rest[0]; {
		case c == ';':
			b = append(b, '&')
		case c == '%' && !isEscape(rest):
			b = append(b, "%25"...)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
