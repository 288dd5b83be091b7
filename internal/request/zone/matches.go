package zone

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
	"github.com/fleetlimit/fleetlimit/internal/text/httpmethod"
)

// matches reports whether matchers of z let the request through, as it is or as servers read it: to
// them, a dot at the end of a host is nothing, one wrong parameter does not hide the others of a
// query, headers have no spaces around them, methods have no case, and no path is a slash. A zone in the
// syntax of caddy-ratelimit matches as Caddy does, and no more.
func (z *Zone) matches(r *Request, sets caddyhttp.MatcherSets) (bool, error) {
	if z.Legacy && r.SentIP != "" {
		defer r.PutClientIP(r.SentIP)()
	}
	matches, err := sets.AnyMatchWithError(r.HTTP)
	if matches || err != nil || z.Legacy {
		return matches, err
	}
	host, differs := keytemplate.PlainHost(r.HTTP.Host)
	query, method := r.HTTP.URL.RawQuery, httpmethod.Of(r.HTTP)
	if z.reads&queryPart != 0 {
		if strings.Count(query, "&")+strings.Count(query, ";") >= mostParameters {
			return true, nil // Caddy does not read them, and others do
		}
		plain, mistaken := keytemplate.PlainQuery(query)
		query, differs = plain, differs || mistaken
	}
	var original http.Header
	if z.reads&headerPart != 0 {
		if lower := strings.ToLower(host); lower != r.HTTP.Host { // they may compare hosts as texts
			host, differs = lower, true
		}
		original = putPlainHeaders(r.HTTP)
		defer putBack(r.HTTP.Header, original)
	}
	u, path := r.HTTP.URL, cmp.Or(r.HTTP.URL.Path, "/")
	if !differs && method == r.HTTP.Method && path == u.Path && original == nil {
		return false, nil
	}
	defer func(method, host, path, query string) {
		r.HTTP.Method, r.HTTP.Host, u.Path, u.RawQuery = method, host, path, query
	}(r.HTTP.Method, r.HTTP.Host, u.Path, u.RawQuery)
	r.HTTP.Method, r.HTTP.Host, u.Path, u.RawQuery = method, host, path, query
	return sets.AnyMatchWithError(r.HTTP)
}

// mostParameters is how many parameters of a query net/url reads at most.
const mostParameters = 10_000

// requestParts are parts of a request.
type requestParts uint8

const (
	pathPart requestParts = 1 << iota
	queryPart
	headerPart
)

// partsRead returns the parts of a request on which sets of matchers may depend. An unknown matcher may
// depend on each. The protocol of gRPC is in a header.
func partsRead(sets ...caddyhttp.MatcherSet) (parts requestParts) {
	for _, m := range slices.Concat(sets...) {
		switch m := m.(type) {
		case *caddyhttp.MatchHost, *caddyhttp.MatchMethod, *caddyhttp.MatchTLS, *caddyhttp.MatchRemoteIP,
			*caddyhttp.MatchClientIP:
		case *caddyhttp.MatchPath, *caddyhttp.MatchPathRE:
			parts |= pathPart
		case *caddyhttp.MatchQuery:
			parts |= queryPart
		case *caddyhttp.MatchHeader, *caddyhttp.MatchHeaderRE, *caddyhttp.MatchProtocol:
			parts |= headerPart
		case *caddyhttp.MatchNot:
			parts |= partsRead(m.MatcherSets...)
		default:
			return pathPart | queryPart | headerPart
		}
	}
	return parts
}
