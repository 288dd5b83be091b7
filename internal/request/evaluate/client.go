package evaluate

import (
	"net/http"
	"net/netip"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
)

// A client is the client of a request. It is a pointer to the request, so that takes have it without
// an allocation, and that its address is read only if a store needs it.
type client http.Request

// networkBits is the length of the networks of IPv6 that count as one client, as of those in keys by
// default.
const networkBits = 64

// Network implements limiter.Client. Anybody may send early data from the address of another one, so
// all clients that do are one.
func (c *client) Network() netip.Addr {
	addr, known, early := zone.ClientAddr((*http.Request)(c))
	switch {
	case early:
		return netip.IPv6Unspecified()
	case !known:
		return netip.Addr{}
	case addr.Is6():
		network, _ := addr.Prefix(networkBits)
		return network.Masked().Addr()
	}
	return addr
}
