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
	if z.queries {
		if strings.Count(query, "&")+strings.Count(query, ";") >= mostParameters {
			return true, nil // Caddy does not read them, and others do
		}
		plain, mistaken := keytemplate.PlainQuery(query)
		query, differs = plain, differs || mistaken
	}
	var original http.Header
	if z.headers {
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

// readsQuery reports whether what a set of matchers decides may depend on the query. Of matchers
// that it does not know it does.
func readsQuery(set caddyhttp.MatcherSet) bool {
	return slices.ContainsFunc(set, func(m any) bool {
		switch m := m.(type) {
		case *caddyhttp.MatchHeader, *caddyhttp.MatchHeaderRE, *caddyhttp.MatchProtocol:
			return false
		case *caddyhttp.MatchNot:
			return slices.ContainsFunc(m.MatcherSets, readsQuery)
		}
		return !readsOthers(m)
	})
}

// readsHeader is readsQuery for headers. The protocol of gRPC is in a header.
func readsHeader(set caddyhttp.MatcherSet) bool {
	return slices.ContainsFunc(set, func(m any) bool {
		switch m := m.(type) {
		case *caddyhttp.MatchQuery:
			return false
		case *caddyhttp.MatchNot:
			return slices.ContainsFunc(m.MatcherSets, readsHeader)
		}
		return !readsOthers(m)
	})
}

// readsOthers reports whether a matcher reads neither the query nor headers.
func readsOthers(m any) bool {
	switch m.(type) {
	case *caddyhttp.MatchHost, *caddyhttp.MatchPath, *caddyhttp.MatchPathRE, *caddyhttp.MatchMethod, *caddyhttp.MatchTLS,
		*caddyhttp.MatchRemoteIP, *caddyhttp.MatchClientIP:
		return true
	}
	return false
}
