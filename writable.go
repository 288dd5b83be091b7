package fleetlimit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/report"
)

// writableAddresses warns about a handler that exempts addresses which clients can write: without
// trusted_proxies_strict, Caddy takes the first address of X-Forwarded-For, and most proxies append
// theirs to what the client has sent.
func (w *routeWarnings) writableAddresses(server *caddyhttp.Server, h *Handler) {
	fromHeader := slices.ContainsFunc(server.ClientIPHeaders, func(name string) bool {
		return strings.EqualFold(name, "X-Forwarded-For")
	})
	if h.requests.Addresses.Exempts() && fromHeader && server.TrustedProxiesStrict == 0 && trustsProxies(server) {
		w.warn("clients can write an address that `allow` exempts from all zones at the beginning of X-Forwarded-For, unless "+
			"the proxy removes it: use trusted_proxies_strict in the global option servers", report.PlaceField(h.Place))
	}
}

// trustsProxies reports whether a server, which is provisioned, has trusted_proxies. Caddy keeps
// them in a field that is not exported.
func trustsProxies(server *caddyhttp.Server) bool {
	proxies := reflect.ValueOf(server).Elem().FieldByName("trustedProxies")
	return server.TrustedProxiesUnix || proxies.IsValid() && !proxies.IsNil()
}
