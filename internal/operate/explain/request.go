package explain

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
)

// A request is one that a server could get, with what handlers provide that do not run.
type request struct {
	server  *caddyhttp.Server
	name    string // of the server
	http    *http.Request
	dropped []string // headers that Caddy drops

	provided map[string]string // the values of placeholders, until they are set
}

// newRequest makes the request that is asked for.
func newRequest(app *caddyhttp.App, limits Limits, asked *api.ExplainRequest) (*request, error) {
	u, err := url.Parse(cmp.Or(asked.URI, "/"))
	if err != nil || u.Host == "" && !strings.HasPrefix(cmp.Or(asked.URI, "/"), "/") {
		return nil, fmt.Errorf("uri: %q is neither a path nor an address: use one such as /export, or https://example.com/export",
			asked.URI)
	}
	host := cmp.Or(asked.Host, u.Host)
	e := endpoint{scheme: u.Scheme, host: host, server: asked.Server}
	if err := e.find(app, limits); err != nil {
		return nil, err
	}
	r, err := http.NewRequest(cmp.Or(asked.Method, http.MethodGet), "http://"+e.host+u.RequestURI(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("method, host or uri: %w: use those of a request", err)
	}
	r.RequestURI = u.RequestURI()
	if r.URL, err = url.ParseRequestURI(r.RequestURI); err != nil {
		return nil, fmt.Errorf("uri: %w: use one that clients can send", err)
	}
	from, err := netip.ParseAddr(cmp.Or(asked.From, "127.0.0.1"))
	if err != nil {
		return nil, fmt.Errorf("from: %q is no address: use one such as 192.0.2.1", asked.From)
	}
	r.RemoteAddr = net.JoinHostPort(from.String(), "50000")
	r.TLS = e.tls(r.Host)
	made := &request{server: e.found, name: e.server, http: r, provided: make(map[string]string)}
	made.setHeaders(asked.Headers)
	return made, made.provide(asked.Set)
}

// setHeaders sets those headers that Caddy does not drop: it drops what programs behind it may read
// as another header, unless the server expects them.
func (r *request) setHeaders(headers map[string][]string) {
	expects := len(r.server.ExpectedUnderscoreHeaders)+len(r.server.ExpectedDotHeaders) > 0
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		field := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case strings.ContainsAny(field, "_.") && !expects:
			r.dropped = append(r.dropped, name)
		case field == "Host":
			r.http.Host = strings.Join(headers[name], "")
		default:
			r.http.Header[field] = append(r.http.Header[field], headers[name]...)
		}
	}
}

// The placeholders of request headers, and of variables.
const (
	headerPrefix = "http.request.header."
	varPrefix    = "http.vars."
)

// provide notes the values of placeholders that handlers would provide.
func (r *request) provide(values map[string]string) error {
	for name, value := range values {
		long := placeholder.Long(strings.Trim(name, "{}"))
		ofRequest := strings.HasPrefix(long, "http.request.") && !strings.HasPrefix(long, headerPrefix)
		if ofRequest || long == varPrefix+caddyhttp.ClientIPVarKey {
			return fmt.Errorf("set: {%s} is of the request itself: use its uri, its host, its headers or from", long)
		}
		if !strings.Contains(long, ".") {
			return fmt.Errorf("set: %q is no placeholder: use one such as http.auth.user.id", name)
		}
		r.provided[long] = value
	}
	return nil
}

// comesLater reports whether a placeholder has its value only after a handler that can provide it:
// authentication does, and zones before it see nothing.
func comesLater(name string) bool {
	return strings.HasPrefix(name, "http.auth.") || strings.HasPrefix(name, headerPrefix)
}

// provideBefore sets the values that do not come later.
func (r *request) provideBefore(prepared *http.Request, repl *caddy.Replacer) {
	for name, value := range r.provided {
		if comesLater(name) {
			continue
		}
		repl.Set(name, value)
		if variable, is := strings.CutPrefix(name, varPrefix); is {
			caddyhttp.SetVar(prepared.Context(), variable, value)
		}
		delete(r.provided, name)
	}
}

// provideAfter sets the values that come later. The request has passed a handler that could provide
// them.
func (r *request) provideAfter(prepared *http.Request) {
	repl := prepared.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	for name, value := range r.provided {
		if field, is := strings.CutPrefix(name, headerPrefix); is {
			prepared.Header.Set(field, value)
		} else {
			repl.Set(name, value)
		}
	}
	clear(r.provided)
}

// unset returns the placeholders whose values were not set.
func (r *request) unset() []string { return slices.Sorted(maps.Keys(r.provided)) }

// describe describes the request as the server gets it.
func (r *request) describe(prepared *http.Request) *api.Explanation {
	clientIP, _ := caddyhttp.GetVar(prepared.Context(), caddyhttp.ClientIPVarKey).(string)
	remoteIP, _, _ := net.SplitHostPort(prepared.RemoteAddr)
	return &api.Explanation{
		Request: api.ExplainedRequest{
			Server: r.name, Method: prepared.Method, URI: prepared.RequestURI, Host: prepared.Host, TLS: prepared.TLS != nil,
			RemoteIP: remoteIP, ClientIP: clientIP,
		},
		Handlers: []api.ExplainedHandler{}, Missed: []api.MissedHandler{}, Unknown: []string{},
	}
}

var errNoServers = errors.New("the configuration has no HTTP server: use one with a site that has rate_limit")
