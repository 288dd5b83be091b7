package keytemplate

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// listHeaders have a comma-separated list as their value. Several headers of one name are one list
// (RFC 9110, section 5.3).
var listHeaders = []string{
	"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding",
	"Content-Language", "Forwarded", "If-Match", "If-None-Match", "Via", "X-Forwarded-For", "X-Forwarded-Host",
	"X-Forwarded-Proto",
}

// hopHeaders are named by Connection in ordinary requests.
var hopHeaders = []string{
	"Connection", "Http2-Settings", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// headerReader returns a reader of a header field. Caddy has dropped the spellings with underscores
// or dots that are the same variable in CGI.
func headerReader(field string) reader {
	field = textproto.CanonicalMIMEHeaderKey(field)
	list, hop := slices.Contains(listHeaders, field), slices.Contains(hopHeaders, field)
	return func(r *http.Request, _ *caddy.Replacer) (string, Presence) {
		values := r.Header[field]
		_, trailer := r.Trailer[field] // some servers add trailers to the headers
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

// joinList returns the list that the values form together.
func joinList(values []string) string {
	var items []string
	for _, v := range values {
		if v = strings.Trim(v, " \t,"); v != "" {
			items = append(items, v)
		}
	}
	return strings.Join(items, ", ")
}

// removedByProxy reports whether Connection names the header: a proxy removes it before the
// upstream sees it.
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
