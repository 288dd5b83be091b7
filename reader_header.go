package fleetlimit

import (
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// listHeaders are those whose value is a comma-separated list. Several of one name are one list (RFC 9110, section 5.3).
var listHeaders = map[string]bool{
	"Accept":            true,
	"Accept-Charset":    true,
	"Accept-Encoding":   true,
	"Accept-Language":   true,
	"Cache-Control":     true,
	"Content-Encoding":  true,
	"Content-Language":  true,
	"Forwarded":         true,
	"If-Match":          true,
	"If-None-Match":     true,
	"Via":               true,
	"X-Forwarded-For":   true,
	"X-Forwarded-Host":  true,
	"X-Forwarded-Proto": true,
}

// hopHeaders are those that Connection names in ordinary requests.
var hopHeaders = map[string]bool{
	"Connection":        true,
	"Http2-Settings":    true,
	"Keep-Alive":        true,
	"Proxy-Connection":  true,
	"Te":                true,
	"Trailer":           true,
	"Transfer-Encoding": true,
	"Upgrade":           true,
}

// readHeader returns a reader of the header field, in canonical form. Caddy has dropped the spellings with underscores or
// dots that are the same variable behind CGI.
func readHeader(field string) reader {
	list, hop := listHeaders[field], hopHeaders[field]
	return func(r *http.Request, _ *caddy.Replacer) (string, presence) {
		values := r.Header[field]
		switch {
		case announced(r, field), !hop && len(values) > 0 && endsHere(r, field):
			return "", ambiguous
		case len(values) == 0:
			return "", missing
		case len(values) == 1:
			return valueOf(values[0])
		case list:
			return valueOf(joinList(values))
		}
		return "", ambiguous
	}
}

// joinList returns the list that the values are together.
func joinList(values []string) string {
	var b strings.Builder
	for _, v := range values {
		if v = strings.Trim(v, " \t,"); v == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(v)
	}
	return b.String()
}

// endsHere reports whether Connection names the header, so that a proxy removes it before the upstream sees it.
func endsHere(r *http.Request, field string) bool {
	for _, list := range r.Header["Connection"] {
		for list != "" {
			var name string
			name, list, _ = strings.Cut(list, ",")
			if strings.EqualFold(strings.Trim(name, " \t"), field) {
				return true
			}
		}
	}
	return false
}

// announced reports whether the header is to follow the body as a trailer, which some servers add to the headers.
func announced(r *http.Request, field string) bool {
	_, found := r.Trailer[field]
	return found
}
