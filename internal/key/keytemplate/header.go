package keytemplate

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// listHeaders are the headers whose value is a comma-separated list. Several headers with one of these
// names are one list (RFC 9110, section 5.3).
var listHeaders = []string{
	"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding",
	"Content-Language", "Forwarded", "If-Match", "If-None-Match", "Via", "X-Forwarded-For", "X-Forwarded-Host",
	"X-Forwarded-Proto",
}

// hopHeaders are the headers that Connection names in ordinary requests.
var hopHeaders = []string{
	"Connection", "Http2-Settings", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// headerReader returns a reader of a header. It need not look for spellings with underscores or dots,
// which CGI cannot tell from hyphens: Caddy has removed them.
func headerReader(field string) reader {
	field = textproto.CanonicalMIMEHeaderKey(field)
	list, hop := slices.Contains(listHeaders, field), slices.Contains(hopHeaders, field)
	return func(r *http.Request, _ *caddy.Replacer) (string, Presence) {
		values := r.Header[field]
		_, trailer := r.Trailer[field] // some servers add trailers to headers
		switch {
		case trailer, !hop && len(values) > 0 && removedByProxy(r, field):
			return "", Ambiguous
		case len(values) == 0:
			return "", Missing
		case len(values) == 1:
			return plain(values[0], false)
		case list:
			return plain(joinList(values), false)
		}
		return "", Ambiguous
	}
}

// joinList returns the list that the values of several headers are together.
func joinList(values []string) string {
	var items []string
	for _, v := range values {
		if v = strings.Trim(v, " \t,"); v != "" {
			items = append(items, v)
		}
	}
	return strings.Join(items, ", ")
}

// removedByProxy reports whether a Connection header names the header field. If so, a proxy removes
// that header, and the upstream does not see it.
func removedByProxy(r *http.Request, field string) bool {
	for _, list := range r.Header["Connection"] {
		for start, i := 0, 0; i <= len(list); i++ {
			if i < len(list) && list[i] != ',' {
				continue
			}
			if i-start >= len(field) && strings.EqualFold(strings.Trim(list[start:i], " \t"), field) {
				return true
			}
			start = i + 1
		}
	}
	return false
}
