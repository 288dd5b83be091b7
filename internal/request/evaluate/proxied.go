package evaluate

import (
	"net"
	"net/http"
	"net/netip"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/key/ipset"
	"github.com/fleetlimit/fleetlimit/internal/request/report"
	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// noteExempt counts a request that the address of its client exempts from all zones. If that is the address
// of a proxy, so that all clients of the proxy are exempt, noteExempt counts that, too, and warns about it
// once in a configuration. It does not refuse the request, because the proxies of a mesh forward every
// request.
func (e *Evaluation) noteExempt() {
	e.handler.Reports.Addresses.Allowed.Add(1)
	client, known, _ := zone.ClientAddr(e.HTTP)
	header := forwardingHeader(e.HTTP.Header)
	if header == "" || !known || client != peerAddr(e.HTTP) {
		return
	}
	e.handler.Reports.Addresses.ExemptProxies.Add(1)
	if !e.handler.App.warnedProxy.Swap(true) {
		e.handler.Reports.ExemptProxy(e.subject(), header, e.handler.Place)
	}
}

// noteUntrustedProxy counts a request that a zone counts by the address of what is probably a proxy,
// so that all of its clients share one count, and warns about it once in a configuration.
func (e *Evaluation) noteUntrustedProxy(z *zone.Zone) {
	header := forwardingHeader(e.HTTP.Header)
	if header == "" {
		return
	}
	client, known, _ := zone.ClientAddr(e.HTTP)
	if !known || client != peerAddr(e.HTTP) {
		return
	}
	cause := api.UntrustedPeer
	if trusted, _ := caddyhttp.GetVar(e.HTTP.Context(), caddyhttp.TrustedProxyVarKey).(bool); trusted {
		cause, header = causeOfTrusted(e.HTTP, header)
	} else if !e.isUntrustedProxy(client) {
		if header = edgeHeader(e.HTTP.Header); header == "" || !e.handler.App.edges.isEdge(client, e.HTTP.Header.Get(header)) {
			return
		}
	}
	e.handler.Reports.Addresses.UntrustedProxies.Add(1)
	if e.handler.App.UntrustedProxy.Load() != nil {
		return
	}
	found := &api.UntrustedProxy{Zone: z.Name, Address: client.String(), Header: header, Cause: cause}
	if e.handler.App.UntrustedProxy.CompareAndSwap(nil, found) {
		e.handler.Reports.UntrustedProxy(reported(z), found)
	}
}

// causeOfTrusted returns why Caddy does not know the client of a trusted proxy, and the header that the cause
// is about. header is the forwarding header that the request has.
func causeOfTrusted(r *http.Request, header string) (api.ProxyCause, string) {
	if server, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server); ok {
		for _, name := range server.ClientIPHeaders {
			if r.Header.Get(name) != "" {
				return api.NoClientAddress, name
			}
		}
	}
	return api.HeaderNotRead, header
}

// forwardingHeaders are the headers by which proxies and CDNs name their clients. edgeHeader skips the first
// two.
var forwardingHeaders = []string{
	"X-Forwarded-For", "Forwarded", "X-Real-Ip", "Cf-Connecting-Ip", "True-Client-Ip", "Fastly-Client-Ip",
}

// forwardingHeader returns the header by which a proxy says for whom it forwards a request, "" if
// there is none.
func forwardingHeader(h http.Header) string {
	for _, name := range forwardingHeaders {
		if _, found := h[name]; found {
			return name
		}
	}
	return ""
}

// peerAddr returns the address of the other end of the connection, the zero Addr if RemoteAddr has no IP
// address.
func peerAddr(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, _ := ipset.ParseAddr(host)
	return addr
}

// exemptVar is the name of Caddy's variable that says that the client's address has been reported
// as exempt.
const exemptVar = "rate_limit.exempt"

// reportExempt counts and publishes that the client's address is exempt: once for a request, however
// many handlers it passes.
func (e *Evaluation) reportExempt() {
	vars, _ := e.HTTP.Context().Value(caddyhttp.VarsCtxKey).(map[string]any)
	if vars[exemptVar] != nil {
		return
	}
	if vars != nil {
		vars[exemptVar] = true
	}
	e.noteExempt()
	e.publish(report.Decision{Outcome: api.Allowed, Reason: allowedAddress})
}
